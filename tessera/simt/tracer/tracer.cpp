// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>
#include <algorithm>
#include <charconv>
#include <filesystem>
#include <random>
#include "tessera/core/text/error.hpp"
#include "tessera/simt/tracer/tracer.hpp"
#include "tessera/simt/executor/executor.hpp"

namespace tessera::simt {

AccessCounts& AccessCounts::operator+=(const AccessCounts& other) {
  requests += other.requests;
  divergent += other.divergent;
  spaced += other.spaced;
  accesses += other.accesses;
  bytes += other.bytes;
  distinct_bytes += other.distinct_bytes;
  sectors += other.sectors;
  ideal_sectors += other.ideal_sectors;
  lines += other.lines;
  wavefronts += other.wavefronts;
  ideal_wavefronts += other.ideal_wavefronts;
  return *this;
}

const char* name_of(Finding::Kind kind) {
  constexpr const char* names[] = {
      "race",    "uninitialised", "out of bounds", "misaligned", "writes an input",
      "barrier", "inactive lane", "host pointer",  "stopped",    "never written"};
  return names[static_cast<std::size_t>(kind)];
}

std::string to_string(const Schedule& schedule) {
  if (schedule.order == Schedule::Order::seeded) return std::to_string(schedule.seed);
  return schedule.order == Schedule::Order::ascending ? "ascending" : "descending";
}

Schedule parse_schedule(const std::string& word) {
  if (word == "ascending") return {Schedule::Order::ascending, 0};
  if (word == "descending") return {Schedule::Order::descending, 0};
  Schedule out{Schedule::Order::seeded, 0};
  const auto [end, failed] = std::from_chars(word.data(), word.data() + word.size(), out.seed);
  if (failed != std::errc() || end != word.data() + word.size() || word.empty())
    throw Error("the schedule '" + word + "' is not known: ascending, descending, or a number, a seed");
  return out;
}

std::vector<std::int64_t> Tracer::blocks_to_run(std::int64_t of) const {
  const std::int64_t count = sample == 0 ? of : std::min(sample, of);
  std::vector<std::int64_t> out(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i)
    out[static_cast<std::size_t>(i)] = count == of || count == 1 ? i : i * (of - 1) / (count - 1);
  if (schedule.order == Schedule::Order::descending) std::ranges::reverse(out);
  if (schedule.order == Schedule::Order::seeded) {
    std::mt19937_64 random(schedule.seed);
    for (std::size_t i = out.size(); i > 1; --i) std::swap(out[i - 1], out[random() % i]);
  }
  return out;
}

void Tracer::add(const SiteCounts& more) {
  for (SiteCounts& known : sites)
    if (known.site.bits == more.site.bits && known.space == more.space && known.array == more.array) {
      known.counts += more.counts;
      const CostliestRequest& costliest = more.costliest;
      if (!known.costliest.is_before(costliest.cost, costliest.block, costliest.warp))
        known.costliest = costliest;
      return;
    }
  sites.push_back(more);
}

void Tracer::add(const BarrierCounts& more) {
  for (BarrierCounts& known : barriers)
    if (same(known.location, more.location)) {
      known.times += more.times;
      return;
    }
  barriers.push_back(more);
}

// The result is the same whichever OS thread found it first.
void Tracer::add(const Finding& more) {
  for (Finding& known : findings)
    if (known.kind == more.kind && known.site.bits == more.site.bits && known.other.bits == more.other.bits &&
        known.location.line == more.location.line && known.serious == more.serious) {
      merge(known, more);
      return;
    }
  findings.push_back(more);
}

void merge(Finding& known, const Finding& more) {
  Finding out =
      std::pair(-int(more.scope), more.block) < std::pair(-int(known.scope), known.block) ? more : known;
  out.times = known.times + more.times;
  out.site_is_first = known.site_is_first || more.site_is_first;
  out.other_is_first = known.other_is_first || more.other_is_first;
  out.steps_to_write = std::min(known.steps_to_write, more.steps_to_write);
  out.both_write = known.both_write + more.both_write;
  out.together = known.together + more.together;
  for (const auto member : {&Finding::release, &Finding::lock})
    out.*member = (known.*member).bits != 0 ? known.*member : more.*member;
  known = std::move(out);
}

void Tracer::find_unwritten_reads(const Launch& launch) {
  for (const UnwrittenRead& read : unwritten_reads) {
    const TracedArray& of = arrays[read.array];
    const std::uint8_t* const first = of.written + read.offset;
    if (of.zeros && (read.then_written || read.site.act() == Act::atomic)) continue;
    const bool updates = read.site.act() == Act::atomic;  // an atomic marks the bytes itself
    const auto end = first + read.site.width();
    const auto is_set = [&](std::uint8_t mark) {
      return mark != unwritten && !(updates ? mark == updated : mark == overwritten && read.then_written);
    };
    if (updates ? std::all_of(first, end, is_set) : std::any_of(first, end, is_set)) continue;
    Finding finding;
    finding.kind = Finding::Kind::uninitialised;
    finding.address = reinterpret_cast<std::uint64_t>(of.data) + read.offset;
    finding.site = read.site;
    finding.block = read.block;
    finding.thread = read.thread;
    finding.array = of.name;
    finding.text = thread_text(launch, read.block, static_cast<std::size_t>(read.thread)) +
                   (read.then_written ? " reads and writes " + std::to_string(read.site.width()) + " bytes"
                                      : access_text(read.site)) +
                   " at " + place_in(of, finding.address, read.site.width()) +
                   (of.zeros ? ", which nothing has set: it is 0" : ", which nothing has written");
    finding.serious = !of.zeros;
    add(finding);
  }
  unwritten_reads.clear();
}

AccessCounts Tracer::total(Space space, Act act) const {
  AccessCounts out;
  for (const SiteCounts& site : sites)
    if (site.space == space && site.site.act() == act) out += site.counts;
  return out;
}

std::string Tracer::array_of(const SiteCounts& site) const {
  if (site.space == Space::global) return site.array < arrays.size() ? arrays[site.array].name : "";
  const auto variable = shared_variable_at ? shared_variable_at(site.array) : std::nullopt;
  return variable ? variable->name : "";
}

#if !defined(TESSERA_TRACING_ABSENT)
namespace {

// Loads the traced build of the kernels, a separate library beside this one, which registers them.
std::optional<std::string> load_traced_kernels() {
  Dl_info self;
  if (dladdr(reinterpret_cast<const void*>(&tracing_absent), &self) == 0) return "its own file is unknown";
  const auto library = std::filesystem::absolute(self.dli_fname).parent_path() / "libtessera_traced.so";
  if (!std::filesystem::exists(library)) return library.string() + " is missing: `make` builds it";
  if (dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL) == nullptr) return dlerror();
  return std::nullopt;
}

}  // namespace
#endif

std::optional<std::string> tracing_absent() {
#if defined(TESSERA_TRACING_ABSENT)
  return TESSERA_TRACING_ABSENT;
#else
  static const std::optional<std::string> reason = load_traced_kernels();
  return reason;
#endif
}

namespace {

template <class Extent>
Index3 index_of(std::int64_t rank, const Extent& size) {
  return {static_cast<int>(rank % size.x), static_cast<int>(rank / size.x % size.y),
          static_cast<int>(rank / size.x / size.y)};
}

}  // namespace

std::string thread_text(const Launch& launch, std::int64_t block, std::size_t thread) {
  return "thread " + to_string(index_of(static_cast<std::int64_t>(thread), launch.block)) + " of block " +
         to_string(index_of(block, launch.grid));
}

std::string race_with(const Launch& launch, std::int64_t block, std::size_t thread, SiteKey site) {
  return ", and nothing orders it with " + thread_text(launch, block, thread) + ", which" + access_text(site);
}

std::string access_text(SiteKey site) {
  const char* const verb = site.act() == Act::read    ? " reads "
                           : site.act() == Act::write ? " writes "
                                                      : " updates ";
  return verb + std::to_string(site.width()) + (site.width() == 1 ? " byte" : " bytes");
}

std::string place_in_shared(std::uint64_t address, std::uint64_t first) {
  return "byte " + std::to_string(static_cast<std::int64_t>(address - first)) + " of shared memory";
}

namespace {

std::string element_of(const std::string& name, std::int64_t offset, std::int64_t bytes, std::int64_t size,
                       const Extents& extents) {
  std::int64_t index = offset >= 0 ? offset / size : (offset - size + 1) / size;
  if (offset < 0 || offset >= bytes)
    return "element " + std::to_string(index) + " of " + name + ", which has " + std::to_string(bytes / size);
  if (extents.empty()) return name + "[" + std::to_string(index) + "]";
  std::string text;
  for (std::size_t d = extents.size(); d-- > 0; index /= extents[d])
    text = std::to_string(index % extents[d]) + (text.empty() ? "" : ", ") + text;
  return name + "[" + text + "]";
}

}  // namespace

std::string place_in(const TracedArray& array, std::uint64_t address, unsigned width) {
  if (array.part_at)
    if (const auto part = array.part_at(address)) {
      TracedArray own;
      own.name = array.name_of_part(address);
      own.data = part->data;
      own.bytes = part->bytes;
      own.element_bytes = 0;
      return place_in(own, address, width) + (part->freed ? ", which was freed" : "");
    }
  const auto offset = static_cast<std::int64_t>(address - reinterpret_cast<std::uint64_t>(array.data));
  const std::size_t size = array.element_bytes == 0 ? width : array.element_bytes;
  return element_of(array.name, offset, static_cast<std::int64_t>(array.bytes),
                    static_cast<std::int64_t>(size), array.extents);
}

std::string place_in(const SharedVariable& variable, std::uint64_t address, std::uint64_t first) {
  const auto offset = static_cast<std::int64_t>(address - first - variable.first);
  const auto bytes = static_cast<std::int64_t>(variable.bytes);
  const auto size = static_cast<std::int64_t>(variable.element_bytes);
  // A scalar is named without an index.
  if (variable.extents.empty() && bytes == size && offset >= 0 && offset < bytes) return variable.name;
  return element_of(variable.name, offset, bytes, size, variable.extents);
}

}  // namespace tessera::simt
