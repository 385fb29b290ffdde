// SPDX-License-Identifier: Apache-2.0
#include "tessera/bench/trace.hpp"
#include <sys/mman.h>
#include <algorithm>
#include <cmath>
#include <cstring>
#include <string_view>
#include <vector>
#include "tessera/bench/result.hpp"
#include "tessera/core/operation/arguments.hpp"
#include "tessera/run/inputs.hpp"
#include "tessera/simt/tracer/symbols.hpp"

namespace tessera::bench {
namespace {

// Copies of the arrays for a traced kernel. Each is between red zones, which are accessible but not allowed,
// and so large that a wrong index hits a zone and is reported, instead of another array or a fault.
class TraceArrays {
 public:
  // Copies inputs, and poisons outputs with bytes 0xFF, which is NaN or -1. `mark`: records the bytes
  // written.
  TraceArrays(const Arguments& host, bool mark);
  ~TraceArrays();
  TraceArrays(const TraceArrays&) = delete;
  TraceArrays& operator=(const TraceArrays&) = delete;

  const Arguments& arguments() const { return arguments_; }
  const std::vector<simt::TracedArray>& arrays() const { return arrays_; }

 private:
  void add(const Parameter& parameter, const ArrayView& host);

  Arguments arguments_;
  std::vector<simt::TracedArray> arrays_;
  std::vector<std::vector<std::uint8_t>> marks_;
  bool mark_;
};

// Zones only reserve address space, because untouched pages take no memory.
constexpr std::size_t red_zone_bytes = std::size_t{256} << 20;
constexpr std::size_t page_bytes = 4096;
constexpr int poison = 0xff;

std::size_t mapped_bytes(std::size_t bytes) {
  return 2 * red_zone_bytes + (bytes + page_bytes - 1) / page_bytes * page_bytes;
}

TraceArrays::TraceArrays(const Arguments& host, bool mark) : arguments_(host), mark_(mark) {
  for (const Parameter& p : host.signature().parameters)
    if (p.is_array() && host.has(p.name)) add(p, host.array(p.name));
}

TraceArrays::~TraceArrays() {
  for (const simt::TracedArray& array : arrays_)
    munmap(array.data - red_zone_bytes, mapped_bytes(array.bytes));
}

void TraceArrays::add(const Parameter& parameter, const ArrayView& host) {
  const std::size_t bytes = static_cast<std::size_t>(host.count()) * size_of(host.element);
  void* const memory = mmap(nullptr, mapped_bytes(bytes), PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED)
    throw Error("no memory for a copy of " + parameter.name + ", " + std::to_string(bytes) + " bytes");
  char* const data = static_cast<char*>(memory) + red_zone_bytes;
  const bool input = parameter.kind == Parameter::Kind::input;
  arrays_.push_back({.name = parameter.name,
                     .data = data,
                     .bytes = bytes,
                     .red_zone_bytes = red_zone_bytes,
                     .extents = host.extents,
                     .element_bytes = size_of(host.element),
                     .input = input});
  if (input) {
    if (bytes != 0) std::memcpy(data, packed_copy(host).view().data, bytes);
  } else {
    std::memset(data, poison, bytes);
    if (mark_) arrays_.back().written = marks_.emplace_back(bytes).data();
  }
  ArrayView view = host;
  view.data = data;
  view.strides = row_major_strides(host.extents);
  arguments_.set_array(parameter.name, view);
}

using simt::Tracer;

// One run of the kernel under one schedule, on fresh arrays.
class OneRun {
 public:
  OneRun(const Plan& plan, const Choice& twin, const Arguments& inputs, const Tracing& tracing,
         const simt::Schedule& schedule)
      : plan_(plan), twin_(twin), arrays_(inputs, tracing.check) {
    tracer.arrays = arrays_.arrays();
    tracer.schedule = schedule;
    tracer.check = tracing.check;
    tracer.without = tracing.without;
    tracer.sample = tracing.blocks;
  }

  // Runs the kernel. A memory error that stops it becomes a finding, too.
  void operator()(int threads) {
    Device device = plan_.device;
    device.threads = threads;
    const PreparedRun planned = twin_.prepared(arrays_.arguments(), plan_.tuning, device);
    const std::size_t workspace = planned.workspace_bytes;
    Array memory;
    if (workspace != 0) {
      memory = Array(Element::u8, {static_cast<std::int64_t>(workspace)});
      std::memset(memory.view().data, 0, workspace);
    }
    Run run{
        .device = &device, .workspace = memory.view().data, .workspace_bytes = workspace, .tracer = &tracer};
    if (workspace != 0)
      tracer.arrays.push_back({.name = "workspace",
                               .data = static_cast<char*>(memory.view().data),
                               .bytes = workspace,
                               .red_zone_bytes = 0,
                               .extents = {static_cast<std::int64_t>(workspace)}});
    try {
      planned(arrays_.arguments().addresses(), run);
      if (tracer.blocks_run == tracer.blocks) look_for_unwritten();
    } catch (const Error& e) {
      if (e.kind() != Error::Kind::memory) throw;
      if (tracer.explained) return;
      simt::Finding finding;
      finding.kind = simt::Finding::Kind::stopped;
      finding.text = e.what();
      tracer.findings.push_back(finding);
    }
  }

  Tracer tracer;
  double written = 1;  // share of the outputs' elements, if all blocks ran

 private:
  // Finds elements that no thread wrote and that still hold the poison: the host did not write them either.
  void look_for_unwritten() {
    std::size_t missing = 0, all = 0;
    for (const simt::TracedArray& array : arrays_.arrays()) {
      if (array.written == nullptr) continue;
      std::size_t count = 0, first = 0;
      for (std::size_t at = 0; at < array.bytes; at += array.element_bytes) {
        bool untouched = true;
        for (std::size_t i = at; i < at + array.element_bytes; ++i)
          untouched =
              untouched && array.written[i] == 0 && static_cast<unsigned char>(array.data[i]) == poison;
        if (untouched && count++ == 0) first = at;
      }
      all += array.bytes / array.element_bytes;
      missing += count;
      if (count == 0) continue;
      simt::Finding finding;
      finding.kind = simt::Finding::Kind::never_written;
      finding.array = array.name;
      finding.text = "no thread writes " + std::to_string(count) + " of the " +
                     std::to_string(array.bytes / array.element_bytes) + " elements of " + array.name +
                     ", the first is " + place_in(array, reinterpret_cast<std::uint64_t>(array.data + first));
      tracer.findings.push_back(finding);
    }
    if (all != 0) written = 1 - static_cast<double>(missing) / static_cast<double>(all);
  }

  const Plan& plan_;
  const Choice& twin_;
  TraceArrays arrays_;
};

std::uint64_t accesses_of(const Tracer& tracer) {
  std::uint64_t out = 0;
  for (const auto& site : tracer.sites) out += site.counts.accesses;
  return out;
}

// Translates addresses of the process into source lines and names.
class Resolver {
 public:
  void lines(const Tracer& tracer, Traced& out) {
    for (const simt::SiteCounts& site : tracer.sites) {
      const simt::SourceLine& at = line_of(site.site);
      const auto known = std::ranges::find_if(out.lines, [&](const TracedLine& line) {
        return line.file == shown(at.file) && line.line == at.line && line.space == site.space &&
               line.act == site.site.act() && line.array == tracer.array_of(site);
      });
      TracedLine& line = known != out.lines.end() ? *known : out.lines.emplace_back();
      line.file = shown(at.file);
      line.line = at.line;
      line.array = tracer.array_of(site);
      line.text = text_[at];
      line.space = site.space;
      line.act = site.site.act();
      line.width = std::max(line.width, site.site.width());
      line.counts += site.counts;
      if (site.costliest.cost <= line.costliest.cost) continue;
      line.costliest = site.costliest;
      line.costliest_width = site.site.width();
      if (site.space != simt::Space::global || site.array >= tracer.arrays.size()) continue;
      const simt::TracedArray& array = tracer.arrays[site.array];
      line.extents = array.extents;
      line.array_bytes = array.bytes;
      line.element_bytes = array.element_bytes;
      line.start = reinterpret_cast<std::size_t>(array.data) % 128;
    }
    std::ranges::sort(out.lines, {},
                      [](const TracedLine& l) { return std::tie(l.file, l.line, l.space, l.act, l.array); });
  }

  void findings(const Tracer& tracer, Traced& out) {
    for (const simt::Finding& finding : tracer.findings) {
      TracedFinding reported;
      reported.kind = finding.kind;
      reported.text = finding.text;
      reported.times = finding.times;
      reported.schedule = to_string(tracer.schedule);
      if (finding.site.bits != 0) {
        const simt::SourceLine& at = line_of(finding.site);
        reported.file = shown(at.file);
        reported.line = at.line;
        reported.source = text_[at];
      }
      if (finding.location.line != 0) {
        reported.file = finding.location.file;
        reported.line = finding.location.line;
        reported.source =
            text_[{reported.file.starts_with('/') ? reported.file : TESSERA_SOURCE_DIR "/" + reported.file,
                   reported.line}];
      }
      if (finding.other.bits != 0) {
        const simt::SourceLine& other = line_of(finding.other);
        reported.text += " at " + shown(other.file) + ":" + std::to_string(other.line);
      }
      const bool known = std::ranges::any_of(out.findings, [&](const TracedFinding& f) {
        return f.kind == reported.kind && f.file == reported.file && f.line == reported.line &&
               (reported.line != 0 || f.text == reported.text);
      });
      if (!known) out.findings.push_back(std::move(reported));
    }
  }

 private:
  const simt::SourceLine& line_of(simt::SiteKey site) {
    const auto [found, fresh] = known_.try_emplace(site.address());
    if (fresh) found->second = symbols_.line_of_kernel(site.address());
    return found->second;
  }

  static std::string shown(const std::string& file) {
    constexpr std::string_view root = TESSERA_SOURCE_DIR "/";
    return file.starts_with(root) ? file.substr(root.size()) : file;
  }

  simt::Symbols symbols_;
  simt::SourceText text_;
  std::map<std::uint64_t, simt::SourceLine> known_;
};

void keep_counts(const Tracer& tracer, Traced& out) {
  out.threads = tracer.threads;
  out.warps = tracer.warps;
  out.blocks = tracer.blocks;
  out.blocks_run = tracer.blocks_run;
  out.launches = tracer.launches;
  out.threads_per_block = tracer.threads_per_block;
  out.shared_bytes = tracer.shared_bytes;
  out.barrier_sites = tracer.barriers;
  for (const auto& barrier : tracer.barriers) out.barriers += barrier.times;
}

// Limits the number of blocks to run, estimated from the accesses of one block.
void limit_blocks(const Plan& plan, const Choice& twin, const Arguments& inputs, Tracing& tracing,
                  double flops) {
  if (tracing.blocks != 0 || flops < static_cast<double>(tracing.accesses) / 2) return;
  Tracing one = tracing;
  one.blocks = 1;
  one.check = false;
  OneRun run(plan, twin, inputs, one, {});
  run(1);
  const std::uint64_t each = std::max<std::uint64_t>(1, accesses_of(run.tracer));
  const std::uint64_t most = std::max<std::uint64_t>(2, tracing.accesses / each);
  if (run.tracer.launches == 1 && run.tracer.blocks > most) tracing.blocks = static_cast<std::int64_t>(most);
}

// Returns the compiled GPU code of the plan's kernel, even if the kernel cannot be traced.
std::optional<KernelCode> code_of(const Plan& plan, Element element, const Tracing& tracing) {
  const auto type = plan.choice->kernels.find(element);
  const auto all = tracing.code.find(plan.variant->object);
  if (type == plan.choice->kernels.end() || all == tracing.code.end()) return std::nullopt;
  const KernelCode* const code = find_code(all->second, type->second, tracing.compute_capability);
  return code != nullptr ? std::optional(*code) : std::nullopt;
}

// Merges lines with the same key by adding their counts; keeps the order of first occurrence.
template <class Key>
std::vector<TracedLine> added_up(const std::vector<TracedLine>& lines, const Key& key) {
  std::vector<TracedLine> out;
  for (const TracedLine& line : lines) {
    const auto known = std::ranges::find_if(out, [&](const TracedLine& l) { return key(l) == key(line); });
    if (known == out.end()) {
      out.push_back(line);
      continue;
    }
    known->counts += line.counts;
    known->width = std::max(known->width, line.width);
  }
  return out;
}

}  // namespace

std::vector<TracedLine> by_place(const std::vector<TracedLine>& lines) {
  return added_up(lines, [](const TracedLine& l) { return std::tie(l.file, l.line, l.space, l.act); });
}

std::vector<TracedLine> by_array(const std::vector<TracedLine>& lines) {
  std::vector<TracedLine> out =
      added_up(lines, [](const TracedLine& l) { return std::tie(l.array, l.space, l.act); });
  std::ranges::sort(out, {}, [](const TracedLine& l) { return std::tie(l.space, l.array, l.act); });
  return out;
}

simt::AccessCounts Traced::total(simt::Space space, simt::Act act) const {
  simt::AccessCounts out;
  for (const TracedLine& line : lines)
    if (line.space == space && line.act == act) out += line.counts;
  return out;
}

Traced trace(const Operation& operation, Element element, const Case& problem, const Plan& plan,
             const Tracing& options) {
  Traced out;
  out.plan = plan;
  out.dims = problem.dims;
  out.element = element;
  out.code = code_of(plan, element, options);
  out.absent = simt::tracing_absent();
  Inputs inputs(operation, element, problem, options.seed);
  out.elements = operation.element_name(inputs.arguments());
  if (!out.absent) out.absent = refuses(plan, inputs.arguments());
  const Choice* const twin = out.absent ? nullptr : instrumented_choice(*plan.variant, *plan.choice);
  if (!out.absent && twin == nullptr) out.absent = "is not written against Thread, so it has no traced build";
  if (!out.absent && !twin->prepare.contains(element))
    out.absent = "has no traced build for " + std::string(name_of(element));
  if (out.absent) return out;

  const double flops = operation.flops ? operation.flops(inputs.arguments()) : 0;
  Tracing tracing = options;
  limit_blocks(plan, *twin, inputs.arguments(), tracing, flops);
  Resolver resolver;
  int threads = plan.device.threads;
  double written = 1;
  for (const simt::Schedule& schedule : tracing.schedules) {
    auto run = std::make_unique<OneRun>(plan, *twin, inputs.arguments(), tracing, schedule);
    (*run)(threads);
    if (run->tracer.blocks_communicate && threads != 1) {
      threads = 1;  // repeatable: the results of communicating blocks depend on their order
      run = std::make_unique<OneRun>(plan, *twin, inputs.arguments(), tracing, schedule);
      (*run)(threads);
    }
    if (out.schedules.empty()) {
      keep_counts(run->tracer, out);
      written = run->written;
      resolver.lines(run->tracer, out);
    }
    out.schedules.push_back(to_string(schedule));
    resolver.findings(run->tracer, out);
  }
  const double share =
      out.blocks == 0 ? 0 : written * static_cast<double>(out.blocks_run) / static_cast<double>(out.blocks);
  out.flops = flops * share;
  out.bytes = operation.bytes(inputs.arguments()) * share;
  std::optional<std::int64_t> registers = options.registers;
  if (!registers && out.code) registers = out.code->registers;
  out.registers_known = registers.has_value();
  out.occupancy = occupancy(multiprocessor_of(tracing.compute_capability), out.threads_per_block,
                            out.shared_bytes, registers);
  return out;
}

namespace {

using simt::Act;
using simt::Space;

std::optional<double> ratio(double a, double b) { return b > 0 ? std::optional(a / b) : std::nullopt; }

}  // namespace

std::string name_of(Space space, Act act) {
  return std::string(space == Space::global ? "global_" : "shared_") + (act == Act::read    ? "load"
                                                                        : act == Act::write ? "store"
                                                                                            : "atomic");
}

Counters counters_of(const simt::AccessCounts& c, Space space) {
  const auto value = [](std::uint64_t n) { return static_cast<double>(n); };
  Counters out{{"requests", value(c.requests)}};
  if (space == Space::global) {
    out.emplace_back("sectors", value(c.sectors));
    out.emplace_back("sectors_per_request", ratio(value(c.sectors), value(c.requests)));
    out.emplace_back("ideal_sectors", value(c.ideal_sectors));
    out.emplace_back("lines", value(c.lines));
    out.emplace_back("efficiency", ratio(value(c.distinct_bytes), 32 * value(c.sectors)));
  } else {
    out.emplace_back("wavefronts", value(c.wavefronts));
    out.emplace_back("wavefronts_per_request", ratio(value(c.wavefronts), value(c.requests)));
    out.emplace_back("ideal_wavefronts", value(c.ideal_wavefronts));
    out.emplace_back("conflicts", value(c.wavefronts - c.ideal_wavefronts));
  }
  out.emplace_back("accesses", value(c.accesses));
  out.emplace_back("bytes", value(c.bytes));
  out.emplace_back("divergent_requests", value(c.divergent));
  return out;
}

Counters counters_of(const Traced& traced) {
  Counters out;
  simt::AccessCounts all, global;
  for (const Space space : {Space::global, Space::shared})
    for (const Act act : {Act::read, Act::write, Act::atomic}) {
      const simt::AccessCounts counts = traced.total(space, act);
      if (counts.requests == 0 && act == Act::atomic) continue;
      all += counts;
      if (space == Space::global) global += counts;
      for (auto& [name, value] : counters_of(counts, space))
        out.emplace_back(name_of(space, act) + "." + name, value);
    }
  const auto value = [](std::uint64_t n) { return static_cast<double>(n); };
  out.emplace_back("barriers", value(traced.barriers));
  out.emplace_back("divergent_requests", value(all.divergent));
  out.emplace_back("threads", value(traced.threads));
  out.emplace_back("warps", value(traced.warps));
  out.emplace_back("threads_per_block", static_cast<double>(traced.threads_per_block));
  out.emplace_back("shared_bytes", static_cast<double>(traced.shared_bytes));
  out.emplace_back("flops", traced.flops);
  out.emplace_back("cgma", ratio(traced.flops, value(global.accesses)));
  out.emplace_back("intensity", ratio(traced.flops, 32 * value(global.sectors)));
  out.emplace_back("intensity_asked", ratio(traced.flops, value(global.bytes)));
  out.emplace_back("intensity_ideal", ratio(traced.flops, traced.bytes));
  out.emplace_back("occupancy", traced.occupancy_fraction());
  return out;
}

}  // namespace tessera::bench
