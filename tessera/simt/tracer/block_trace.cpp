// SPDX-License-Identifier: Apache-2.0
#include "tessera/simt/tracer/block_trace.hpp"
#include <algorithm>
#include <bit>
#include <numeric>
#include <utility>
#include "tessera/simt/tracer/tracer.hpp"

namespace tessera::simt {

namespace {

constexpr unsigned sector_bytes = 32, sectors_per_line = 4, word_bytes = 4, banks = 32;

// Capacity for the units of a request: 16 bytes are four words, five if the access is unaligned.
using Units = std::array<std::uint64_t, lanes_per_warp * 5>;

// Stores the distinct units of `bytes` bytes that the active lanes touch, sorted. Returns their number.
std::size_t distinct_units(const LaneAddresses& address, std::uint32_t active, unsigned width, unsigned bytes,
                           Units& units) {
  std::size_t count = 0;
  for (std::uint32_t left = active; left != 0; left &= left - 1) {
    const std::uint64_t first = address[static_cast<std::size_t>(__builtin_ctz(left))];
    for (std::uint64_t unit = first / bytes; unit <= (first + width - 1) / bytes; ++unit)
      if (count == 0 || units[count - 1] != unit) units[count++] = unit;
  }
  const auto end = units.begin() + static_cast<std::ptrdiff_t>(count);
  std::sort(units.begin(), end);
  return static_cast<std::size_t>(std::unique(units.begin(), end) - units.begin());
}

std::uint32_t distinct_bytes(const LaneAddresses& address, std::uint32_t active, unsigned width) {
  LaneAddresses first;
  std::size_t count = 0;
  for (std::uint32_t left = active; left != 0; left &= left - 1)
    first[count++] = address[static_cast<std::size_t>(__builtin_ctz(left))];
  std::sort(first.begin(), first.begin() + static_cast<std::ptrdiff_t>(count));
  std::uint32_t bytes = width;
  for (std::size_t i = 1; i < count; ++i)
    bytes += static_cast<std::uint32_t>(std::min<std::uint64_t>(width, first[i] - first[i - 1]));
  return bytes;
}

std::uint32_t wavefronts_of_phase(const LaneAddresses& address, std::uint32_t active, unsigned width) {
  Units words;
  const std::size_t count = distinct_units(address, active, width, word_bytes, words);
  std::array<std::uint32_t, banks> wanted{};
  std::uint32_t most = 0;
  for (std::size_t i = 0; i < count; ++i) most = std::max(most, ++wanted[words[i] % banks]);
  return most;
}

}  // namespace

RequestCost global_cost(const LaneAddresses& address, std::uint32_t active, unsigned width) {
  Units sectors;
  RequestCost cost;
  cost.distinct_bytes = distinct_bytes(address, active, width);
  cost.sectors = static_cast<std::uint32_t>(distinct_units(address, active, width, sector_bytes, sectors));
  for (std::size_t i = 0; i < cost.sectors; ++i)
    cost.lines += i == 0 || sectors[i] / sectors_per_line != sectors[i - 1] / sectors_per_line;
  cost.ideal_sectors = (cost.distinct_bytes + sector_bytes - 1) / sector_bytes;
  return cost;
}

RequestCost shared_cost(const LaneAddresses& address, std::uint32_t active, unsigned width) {
  RequestCost cost;
  cost.distinct_bytes = distinct_bytes(address, active, width);
  const int phases = width <= 4 ? 1 : width <= 8 ? 2 : 4, lanes = lanes_per_warp / phases;
  for (int phase = 0; phase < phases; ++phase) {
    const std::uint32_t all = lanes == lanes_per_warp ? ~0u : (1u << lanes) - 1;
    const std::uint32_t present = active & all << (phase * lanes);
    if (present == 0) continue;
    cost.wavefronts += wavefronts_of_phase(address, present, width);
    ++cost.ideal_wavefronts;
  }
  return cost;
}

namespace {

std::size_t first_lane(std::uint32_t lanes) { return static_cast<std::size_t>(std::countr_zero(lanes)); }

std::uint64_t number(const void* address) { return reinterpret_cast<std::uint64_t>(address); }

}  // namespace

BlockTrace::BlockTrace(const Task& task, const char* shared, void (*flush_lane)(LaneLog&), void* owner)
    : task_(task), tracer_(*task.tracer), shared_(number(shared)) {
  const auto threads = static_cast<std::size_t>(task.launch.threads());
  warps_.resize((threads + 31) / 32);
  lanes_.resize(threads);
  for (std::size_t i = 0; i < threads; ++i) {
    warps_[i / 32].present |= 1u << i % 32;
    lanes_[i] = {.warp = &warps_[i / 32].log,
                 .lane = static_cast<std::uint32_t>(i % 32),
                 .flush_lane = flush_lane,
                 .owner = owner};
  }
  if (!tracer_.check) return;
  std::vector<std::size_t> bytes;
  for (const TracedArray& array : tracer_.arrays) bytes.push_back(array.input ? 0 : array.bytes);
  shadow_ = std::make_unique<Shadow>(threads, task.shared_bytes, bytes, tracer_.words);
}

BlockTrace::~BlockTrace() {
  const std::lock_guard lock(tracer_.mutex);
  for (const auto& [key, site] : sites_)
    for (const Space space : {Space::global, Space::shared})
      for (const auto& [array, counts, costliest] : site->counts[static_cast<int>(space)])
        tracer_.add(SiteCounts{site->key, space, counts, array, costliest});
  for (const BarrierCounts& barrier : barriers_) tracer_.add(barrier);
  for (std::size_t i = 0; i < findings_.size(); ++i) {
    if (i < harmless_.size() && harmless_[i] >= findings_[i].times) findings_[i].serious = false;
    tracer_.add(findings_[i]);
  }
  tracer_.unwritten_reads.insert(tracer_.unwritten_reads.end(), unwritten_.begin(), unwritten_.end());
  tracer_.blocks_communicate = tracer_.blocks_communicate || communicates_;
  tracer_.cut_short = tracer_.cut_short || cut_short_;
  tracer_.blocks_run += blocks_;
  tracer_.warps += blocks_ * warps_.size();
  tracer_.threads += blocks_ * lanes_.size();
}

WorkerShadow BlockTrace::take_shadow() {
  if (shadow_ && shadow_->limit_exceeded()) {
    const std::lock_guard lock(tracer_.mutex);
    tracer_.race_table_full = true;
  }
  WorkerShadow out{std::move(shadow_), {}};
  for (const Site* site : by_number_) out.sites.push_back(site->key);
  return out;
}

void BlockTrace::begin(std::int64_t block) {
  block_ = block;
  ++blocks_;
  accesses_before_ = accesses_;
  if (shadow_) shadow_->begin(block);
  may_update_.clear();
  unwritten_of_.clear();
  for (WarpState& warp : warps_) {
    warp.running = warp.present;
    warp.returned = warp.full = 0;
    warp.rows_read = 0;
    warp.log.count.fill(0);
    warp.log.site.fill(0);
    warp.log.diverged = false;
  }
  for (LaneLog& lane : lanes_) lane.pending_write = nullptr;
}

void BlockTrace::resume(int rank, const Stack& stack) {
  LaneLog& lane = lanes_[static_cast<std::size_t>(rank)];
  lane.stack_low = number(stack.low);
  lane.stack_bytes = stack.bytes;
  recording = &lane;
}

bool BlockTrace::is_skipped(SourceLocation location) const {
  return std::ranges::any_of(tracer_.without,
                             [location](SourceLocation other) { return same(other, location); });
}

std::uint32_t BlockTrace::stop(int rank, Stop why) {
  pause();
  WarpState& warp = warps_[static_cast<std::size_t>(rank / 32)];
  const std::uint32_t lane = 1u << rank % 32;
  warp.running &= ~lane;
  if (why == Stop::full) warp.full |= lane;
  if (why == Stop::returned) warp.returned |= lane;
  return warp.running == 0 ? empty_full(static_cast<std::size_t>(rank / 32)) : 0;
}

std::uint32_t BlockTrace::empty_full(std::size_t warp) {
  WarpState& state = warps_[warp];
  if (state.running != 0 && state.full == 0) return 0;
  read_table(warp);
  const std::uint32_t again = state.full;
  state.running |= again;
  state.full = 0;
  return again;
}

void BlockTrace::passed_barrier(SourceLocation location) {
  if (shadow_) shadow_->barrier();
  for (WarpState& warp : warps_) warp.running = warp.present & ~warp.returned;
  const auto known = std::ranges::find_if(
      barriers_, [location](const BarrierCounts& b) { return same(b.location, location); });
  if (known == barriers_.end()) barriers_.push_back({location, 1});
  else ++known->times;
}

void BlockTrace::warp_synced(std::size_t warp, std::uint32_t lanes) {
  if (*std::ranges::max_element(warps_[warp].log.count) == WarpLog::rows) read_table(warp);
  for (std::uint32_t left = lanes; left != 0; left &= left - 1)
    record(lanes_[warp * 32 + first_lane(left)], lanes, SiteKey::of(nullptr, Act::collective, 0));
}

void BlockTrace::read_table(std::size_t warp) {
  WarpLog& log = warps_[warp].log;
  const std::uint32_t rows = *std::ranges::max_element(log.count);
  if (rows == 0) return;
  accesses_ += std::accumulate(log.count.begin(), log.count.end(), std::int64_t{0});
  // A signal that stops kernels must not interrupt this.
  ThreadContext* const running = std::exchange(current_thread, nullptr);
  if (log.diverged) read_diverged(warp);
  else read_rows(warp);
  warps_[warp].rows_read += rows;
  std::fill_n(log.site.begin(), rows, 0);
  log.count.fill(0);
  log.diverged = false;
  current_thread = running;
}

BlockTrace::Site& BlockTrace::site_of(std::uint64_t key, std::uint32_t row) {
  Site*& last = by_row_[row];
  if (last != nullptr && last->key.bits == key) return *last;
  auto& site = sites_[key];
  if (!site) {
    site = std::make_unique<Site>();
    site->key.bits = key;
    site->number = static_cast<std::uint32_t>(by_number_.size());
    by_number_.push_back(site.get());
  }
  last = site.get();
  return *last;
}

void BlockTrace::read_rows(std::size_t warp) {
  WarpLog& log = warps_[warp].log;
  const auto [fewest, most] = std::ranges::minmax(log.count);
  // With fences, checks lane by lane: lanes of a warp may pass a lock on, in the order of the lanes.
  const auto is_fence = [](std::uint64_t key) { return SiteKey{key}.act() == Act::fence; };
  const bool by_lane = shadow_ && std::any_of(log.site.begin(),
                                              log.site.begin() + static_cast<std::ptrdiff_t>(most), is_fence);
  if (by_lane) check_diverged(warp);
  for (std::uint32_t row = 0; row < most; ++row) {
    std::uint32_t active = ~0u;
    if (row >= fewest) {
      active = 0;
      for (std::uint32_t lane = 0; lane < lanes_per_warp; ++lane)
        active |= static_cast<std::uint32_t>(log.count[lane] > row) << lane;
    }
    if (shadow_) shadow_->set_step(warps_[warp].rows_read + row);
    request(warp, site_of(log.site[row], row), (*log.address)[row], active,
            shadow_ && !by_lane ? &(*log.value)[row] : nullptr);
  }
}

void BlockTrace::read_diverged(std::size_t warp) {
  if (shadow_) check_diverged(warp);
  struct Group {
    Site* site;
    std::uint32_t active = 0;
    LaneAddresses address{};
  };
  WarpLog& log = warps_[warp].log;
  std::vector<Group> groups;
  std::unordered_map<std::uint64_t, std::vector<std::size_t>> by_site;
  for (std::uint32_t lane = 0; lane < lanes_per_warp; ++lane) {
    std::unordered_map<std::uint64_t, std::size_t> times;
    for (std::uint32_t row = 0; row < log.count[lane]; ++row) {
      const std::uint64_t key = (*log.own_site)[row][lane];
      const std::size_t time = times[key]++;
      auto& known = by_site[key];
      if (time == known.size()) {
        known.push_back(groups.size());
        groups.push_back({.site = &site_of(key, row)});
      }
      Group& group = groups[known[time]];
      group.active |= 1u << lane;
      group.address[lane] = (*log.address)[row][lane];
    }
  }
  for (Group& group : groups) request(warp, *group.site, group.address, group.active, nullptr);
}

// Counts the costs of the rows of a warp's table.

namespace {

// Sectors and lines depend on the first lane's offset in a line; wavefronts only on its offset in a word,
// because a shift by whole words rotates all banks alike.
std::uint64_t alignment_of(Space space, std::uint64_t address) {
  return address % (space == Space::global ? 128 : 4);
}

}  // namespace

bool BlockTrace::as_before(Site& site, Space space, const LaneAddresses& address,
                           std::uint32_t active) const {
  const Pattern& pattern = site.pattern[static_cast<int>(space)];
  if (pattern.active != active) return false;
  const std::uint64_t base = address[first_lane(active)];
  if (pattern.alignment != alignment_of(space, base)) return false;
  std::uint64_t differs = 0;
  for (std::size_t lane = 0; lane < lanes_per_warp; ++lane)
    differs |= (address[lane] - base) ^ pattern.offset[lane];
  if (differs != 0) return false;
  const std::uint64_t low = base + static_cast<std::uint64_t>(pattern.low);
  const std::uint64_t high = base + static_cast<std::uint64_t>(pattern.high);
  if (space == Space::shared)
    return low >= shared_ + site.shared_first && high <= shared_ + site.shared_first + site.shared_bytes;
  const TracedArray& array = tracer_.arrays[site.array];
  return low >= number(array.data) && high <= number(array.data) + array.bytes;
}

namespace {

// True of every second, every third, … lane.
bool is_spaced(std::uint32_t lanes) {
  if (std::has_single_bit(lanes)) return false;
  const std::uint32_t from_first = lanes >> std::countr_zero(lanes);
  const int step = std::countr_zero(from_first & (from_first - 1));
  std::uint32_t expected = 0;
  for (int lane = 0; lane < 32 && (from_first >> lane) != 0; lane += step) expected |= 1u << lane;
  return step > 1 && from_first == expected;
}

}  // namespace

BlockTrace::Site::ArrayCounts& BlockTrace::Site::counts_of(Space space) {
  auto& all = counts[static_cast<int>(space)];
  const std::size_t which = space == Space::global ? array : shared_first;
  for (ArrayCounts& known : all)
    if (known.array == which) return known;
  return all.emplace_back(ArrayCounts{which, {}, {}});
}

void BlockTrace::count(std::size_t warp, Site& site, Space space, const LaneAddresses& address,
                       std::uint32_t active, const RequestCost& cost, bool costliest) {
  auto& [array, counts, kept] = site.counts_of(space);
  const auto lanes = static_cast<std::uint64_t>(std::popcount(active));
  ++counts.requests;
  counts.divergent += active != warps_[warp].present;
  counts.spaced += is_spaced(active);
  counts.accesses += lanes;
  counts.bytes += lanes * site.key.width();
  counts.distinct_bytes += cost.distinct_bytes;
  counts.sectors += cost.sectors;
  counts.ideal_sectors += cost.ideal_sectors;
  counts.lines += cost.lines;
  counts.wavefronts += cost.wavefronts;
  counts.ideal_wavefronts += cost.ideal_wavefronts;
  const std::uint32_t price = space == Space::global ? cost.sectors : cost.wavefronts;
  if (costliest && !kept.is_before(price, block_, static_cast<std::int64_t>(warp)))
    keep_costliest(kept, warp, site, space, address, active, price);
}

void BlockTrace::keep_costliest(CostliestRequest& costliest, std::size_t warp, const Site& site, Space space,
                                const LaneAddresses& address, std::uint32_t active,
                                std::uint32_t cost) const {
  const std::uint64_t first =
      space == Space::global ? number(tracer_.arrays[site.array].data) : shared_ + site.shared_first;
  costliest = {.cost = cost, .active = active, .block = block_, .warp = static_cast<std::int64_t>(warp)};
  for (std::uint32_t left = active; left != 0; left &= left - 1)
    costliest.offset[first_lane(left)] = address[first_lane(left)] - first;
}

void BlockTrace::request(std::size_t warp, Site& site, LaneAddresses& address, std::uint32_t active,
                         const WarpLog::Values* values) {
  const Act act = site.key.act();
  if (act == Act::collective || act == Act::fence) {
    if (act == Act::fence) communicates_ = true;
    if (values != nullptr) order(warp, act, address, active);
    return;
  }
  const std::uint64_t base = address[first_lane(active)];
  for (std::uint32_t idle = ~active; idle != 0; idle &= idle - 1) address[first_lane(idle)] = base;
  const Space space = base - shared_ < task_.shared_bytes ? Space::shared : Space::global;
  if (as_before(site, space, address, active)) {
    count(warp, site, space, address, active, site.pattern[static_cast<int>(space)].cost, true);
    if (values != nullptr) check(warp, site, space, address, active, *values);
    return;
  }
  request_by_lane(warp, site, address, active, values);
}

BlockTrace::Region BlockTrace::region_of(std::uint64_t address, const Site& site) const {
  if (address - (shared_ - shared_red_zone) < task_.shared_bytes + 2 * shared_red_zone)
    return shared_region_of(address, site);
  const auto& arrays = tracer_.arrays;
  Region beside;
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    const std::size_t at = (site.array + i) % arrays.size();
    const std::uint64_t first = number(arrays[at].data), zone = arrays[at].red_zone_bytes;
    if (address - first < arrays[at].bytes)
      return part_of({Space::global, at, first, arrays[at].bytes}, address);
    if (beside.bytes == 0 && address - (first - zone) < arrays[at].bytes + 2 * zone)
      beside = {Space::global, at, first, arrays[at].bytes};
  }
  return beside;
}

// Returns a region of one byte for an address in no part, so that every access to it is out of bounds.
BlockTrace::Region BlockTrace::part_of(const Region& array, std::uint64_t address) const {
  if (!tracer_.arrays[array.array].part_at) return array;
  const auto part = tracer_.arrays[array.array].part_at(address);
  if (!part) return {Space::global, array.array, array.first, 1};
  return {Space::global, array.array, number(part->data), part->bytes, part->freed};
}

// For a byte between two variables, returns the variable that the site accessed before.
BlockTrace::Region BlockTrace::shared_region_of(std::uint64_t address, const Site& site) const {
  if (!tracer_.shared_variable_at) return {Space::shared, 0, shared_, task_.shared_bytes};
  const std::uint64_t first = shared_ + site.shared_first;
  if (address - first < site.shared_bytes) return {Space::shared, 0, first, site.shared_bytes};
  const std::uint64_t offset = address - shared_;
  if (offset < task_.shared_bytes)
    if (const auto variable = tracer_.shared_variable_at(offset))
      return {Space::shared, 0, shared_ + variable->first, variable->bytes};
  if (site.shared_bytes != 0) return {Space::shared, 0, first, site.shared_bytes};
  // Otherwise the nearest variable below.
  for (std::uint64_t back = offset < task_.shared_bytes ? offset : task_.shared_bytes; back-- > 0;)
    if (const auto variable = tracer_.shared_variable_at(back))
      return {Space::shared, 0, shared_ + variable->first, variable->bytes};
  return {Space::shared, 0, shared_, 1};  // no variable below: a region that every access is outside of
}

std::string BlockTrace::array_of(const Region& region) const {
  if (region.bytes == 0) return "";
  if (region.space == Space::global) return tracer_.arrays[region.array].name;
  const auto variable =
      tracer_.shared_variable_at ? tracer_.shared_variable_at(region.first - shared_) : std::nullopt;
  return variable ? variable->name : "";
}

std::string BlockTrace::place_of(std::uint64_t address, const Region& region, unsigned width) const {
  if (region.space == Space::global) return place_in(tracer_.arrays[region.array], address, width);
  if (tracer_.shared_variable_at)
    if (const auto variable = tracer_.shared_variable_at(region.first - shared_))
      return place_in(*variable, address, shared_);
  return place_in_shared(address, shared_);
}

// Classifies a request lane by lane, ignoring addresses outside of all traced memory, which belong to the
// thread or to the host program.
void BlockTrace::request_by_lane(std::size_t warp, Site& site, const LaneAddresses& address,
                                 std::uint32_t active, const WarpLog::Values* values) {
  const unsigned width = site.key.width();
  std::uint32_t in[2] = {0, 0};
  bool one_array = true;
  for (std::uint32_t left = active; left != 0; left &= left - 1) {
    const std::size_t lane = first_lane(left);
    const Region region = region_of(address[lane], site);
    if (region.bytes == 0) {
      if (tracer_.is_host_memory && tracer_.is_host_memory(address[lane]))
        find(Finding::Kind::host_pointer, site, warp, lane, address[lane]);
      continue;
    }
    if (region.freed || address[lane] < region.first || address[lane] + width > region.first + region.bytes) {
      find(Finding::Kind::out_of_bounds, site, warp, lane, address[lane]);
      continue;
    }
    if (address[lane] % width != 0) find(Finding::Kind::misaligned, site, warp, lane, address[lane]);
    if (region.space == Space::global) {
      if (site.key.act() != Act::read && tracer_.arrays[region.array].input)
        find(Finding::Kind::writes_input, site, warp, lane, address[lane]);
      one_array = one_array && (in[0] == 0 || region.array == site.array);
      site.array = region.array;
      communicates_ = communicates_ || site.key.act() == Act::atomic;
    } else {
      one_array = one_array && (in[1] == 0 || region.first - shared_ == site.shared_first);
      site.shared_first = region.first - shared_;
      site.shared_bytes = region.bytes;
    }
    if (values != nullptr) check(warp, site, region.space, address, 1u << lane, *values);
    in[static_cast<int>(region.space)] |= 1u << lane;
  }
  for (const Space space : {Space::global, Space::shared}) {
    const std::uint32_t lanes = in[static_cast<int>(space)];
    if (lanes == 0) continue;
    const RequestCost cost =
        space == Space::global ? global_cost(address, lanes, width) : shared_cost(address, lanes, width);
    const bool in_parts = space == Space::global && tracer_.arrays[site.array].part_at;
    count(warp, site, space, address, lanes, cost, one_array && !in_parts);
    if (lanes != active || !one_array || in_parts) continue;
    Pattern& pattern = site.pattern[static_cast<int>(space)];
    const std::uint64_t base = address[first_lane(active)];
    pattern = {.active = active, .alignment = alignment_of(space, base), .cost = cost};
    for (std::size_t lane = 0; lane < lanes_per_warp; ++lane) {
      pattern.offset[lane] = address[lane] - base;
      pattern.low = std::min(pattern.low, static_cast<std::int64_t>(pattern.offset[lane]));
      pattern.high = std::max(pattern.high, static_cast<std::int64_t>(pattern.offset[lane]) + width);
    }
  }
}

// Checks the rows of a warp's table, in an order in which the threads could have run, and words the findings.

// Checks each lane in program order up to its next collective, where it waits for the lanes named.
void BlockTrace::check_diverged(std::size_t warp) {
  WarpLog& log = warps_[warp].log;
  std::array<std::uint32_t, lanes_per_warp> at{};
  for (bool more = true; more;) {
    more = false;
    LaneAddresses collective{};
    for (std::size_t lane = 0; lane < lanes_per_warp; ++lane)
      for (; at[lane] < log.count[lane]; ++at[lane]) {
        const std::uint32_t row = at[lane];
        Site& site = site_of(log.diverged ? (*log.own_site)[row][lane] : log.site[row], row);
        const std::uint64_t address = (*log.address)[at[lane]][lane];
        if (site.key.act() == Act::collective) {
          collective[lane] = address;
          break;
        }
        shadow_->set_step(warps_[warp].rows_read + row);
        if (site.key.act() == Act::fence) shadow_->fence(static_cast<int>(warp * 32 + lane));
        else check_lane(warp, site, lane, address, (*log.value)[at[lane]]);
      }
    for (std::uint32_t passed = pass_collectives(warp, collective); passed != 0; passed &= passed - 1) {
      ++at[first_lane(passed)];
      more = true;
    }
  }
}

// Returns the lanes whose collective all named lanes have reached; 0 in `row`: the lane is at none.
std::uint32_t BlockTrace::pass_collectives(std::size_t warp, LaneAddresses& row) {
  std::uint32_t passed = 0;
  for (std::size_t lane = 0; lane < lanes_per_warp; ++lane) {
    const auto named = static_cast<std::uint32_t>(row[lane]);
    if (named == 0 || (passed >> lane & 1) != 0) continue;
    bool all = true;
    for (std::uint32_t left = named; left != 0; left &= left - 1) all = all && row[first_lane(left)] == named;
    if (!all) continue;
    shadow_->warp_synced(warp, named);
    passed |= named;
  }
  return passed;
}

// Applies a row of fences or collectives.
void BlockTrace::order(std::size_t warp, Act act, const LaneAddresses& lanes, std::uint32_t active) {
  LaneAddresses row{};
  for (std::uint32_t left = active; left != 0; left &= left - 1) {
    const std::size_t lane = first_lane(left);
    row[lane] = lanes[lane];
    if (act == Act::fence) shadow_->fence(static_cast<int>(warp * 32 + lane));
  }
  if (act == Act::collective) pass_collectives(warp, row);
}

void BlockTrace::check(std::size_t warp, Site& site, Space space, const LaneAddresses& address,
                       std::uint32_t active, const WarpLog::Values& values) {
  const Act act = site.key.act();
  const unsigned width = site.key.width();
  if (space == Space::global && tracer_.arrays[site.array].input) return;
  if (space == Space::global && tracer_.arrays[site.array].written != nullptr)
    check_written(site, warp, active, address);
  const std::uint64_t first = space == Space::shared ? shared_ : number(tracer_.arrays[site.array].data);
  for (std::uint32_t left = active; left != 0; left &= left - 1) {
    const std::size_t lane = first_lane(left);
    const int thread = static_cast<int>(warp * 32 + lane);
    const std::uint64_t offset = address[lane] - first;
    if (space == Space::shared && act == Act::read && shadow_->is_fast_read(offset, width, thread)) continue;
    const Conflict conflict = space == Space::shared
                                  ? shadow_->shared(offset, width, act, thread, site.number, values[lane])
                                  : shadow_->global(site.array, offset, width, act, thread, site.number,
                                                    values[lane], address[lane]);
    if (act == Act::atomic && !may_update_.empty()) note_update(thread, address[lane]);
    if (conflict.kind != Conflict::Kind::none) report_race(conflict, site, warp, lane, address[lane]);
  }
}

// Checks and marks bytes, concurrently with other OS threads. An atomic does not overwrite a write's mark. A
// thread that reads bytes and then is the first to write them, as in "c[i] += x", read nothing that was set.
void BlockTrace::check_written(Site& site, std::size_t warp, std::uint32_t lanes,
                               const LaneAddresses& address) {
  const TracedArray& array = tracer_.arrays[site.array];
  const Act act = site.key.act();
  const unsigned width = site.key.width();
  for (; lanes != 0; lanes &= lanes - 1) {
    const std::size_t lane = first_lane(lanes);
    const std::uint64_t offset = address[lane] - number(array.data);
    std::uint8_t* const marks = array.written + offset;
    const std::int64_t thread = static_cast<std::int64_t>(warp * 32 + lane);
    const auto read = unwritten_of_.empty() ? unwritten_of_.end() : unwritten_of_.find(address[lane] / 4);
    const bool was_read = read != unwritten_of_.end();
    bool all = true, any = false;
    for (unsigned i = 0; i < width; ++i) {
      const std::uint8_t mark = __atomic_load_n(marks + i, __ATOMIC_RELAXED);
      all = all && (mark == written || (mark == overwritten && (act != Act::write || was_read)));
      any = any || mark != unwritten;
    }
    // One written byte suffices for a read: some bytes of a struct copied as a whole may be padding.
    if (act == Act::read ? any : all) continue;
    constexpr int max_kept = 64;
    if (act != Act::write && site.unwritten_reads < max_kept) {
      ++site.unwritten_reads;
      for (std::uint64_t word = address[lane] / 4; act == Act::read && word * 4 < address[lane] + width;
           ++word)
        unwritten_of_[word] = unwritten_.size();
      unwritten_.push_back({site.key, site.array, offset, block_, thread});
    }
    const bool overwrites =
        act == Act::write && was_read && !any && unwritten_[read->second].thread == thread;
    if (overwrites) unwritten_[read->second].then_written = true;
    for (unsigned i = 0; i < width && act != Act::read; ++i) {
      std::uint8_t none = unwritten;
      if (act == Act::write)
        __atomic_store_n(marks + i, overwrites ? overwritten : written, __ATOMIC_RELAXED);
      else
        __atomic_compare_exchange_n(marks + i, &none, std::uint8_t{updated}, false, __ATOMIC_RELAXED,
                                    __ATOMIC_RELAXED);
    }
  }
}

void BlockTrace::check_lane(std::size_t warp, Site& site, std::size_t lane, std::uint64_t address,
                            const WarpLog::Values& values) {
  const Region region = region_of(address, site);
  if (region.bytes == 0 || region.freed || address < region.first ||
      address + site.key.width() > region.first + region.bytes)
    return;
  if (region.space == Space::global) site.array = region.array;
  LaneAddresses row;
  row[lane] = address;
  check(warp, site, region.space, row, 1u << lane, values);
}

void BlockTrace::report_race(const Conflict& conflict, const Site& site, std::size_t warp, std::size_t lane,
                             std::uint64_t address) {
  find(conflict.kind == Conflict::Kind::race ? Finding::Kind::race : Finding::Kind::uninitialised, site, warp,
       lane, address, conflict);
}

void BlockTrace::find(Finding::Kind kind, const Site& site, std::size_t warp, std::size_t lane,
                      std::uint64_t address, const Conflict& conflict) {
  const SiteKey other = kind == Finding::Kind::race ? by_number_[conflict.other.site]->key : SiteKey{};
  const auto known = std::ranges::find_if(findings_, [&](const Finding& f) {
    return f.kind == kind && f.site.bits == site.key.bits && f.other.bits == other.bits &&
           f.serious != conflict.same_value;
  });
  if (kind == Finding::Kind::race)
    note_race_with_atomic(static_cast<std::size_t>(known - findings_.begin()), site,
                          static_cast<int>(warp * 32 + lane), address, conflict);
  Finding finding;
  finding.kind = kind;
  finding.serious = !conflict.same_value;
  finding.site = site.key;
  finding.other = other;
  finding.block = block_;
  finding.thread = static_cast<std::int64_t>(warp * 32 + lane);
  finding.address = address;
  if (kind == Finding::Kind::race) describe_race(finding, conflict);
  // The text of most occurrences is dropped.
  if (known != findings_.end() && known->scope >= finding.scope && known->block <= block_)
    return merge(*known, finding);
  finding.text = thread_text(task_.launch, block_, warp * 32 + lane) + access_text(site.key) + " at ";
  if (kind == Finding::Kind::host_pointer) {
    finding.text += "host memory; a kernel may use memory of cudaMalloc and its like only";
  } else {
    const Region region = region_of(address, site);
    finding.array = array_of(region);
    finding.text += place_of(address, region, site.key.width());
  }
  if (kind == Finding::Kind::uninitialised) finding.text += ", which no thread of the block has written";
  if (kind == Finding::Kind::race) {
    finding.text +=
        race_with(task_.launch, shadow_->block_of(conflict.other.when), conflict.other.thread, finding.other);
    if (conflict.same_value) finding.text += wrote_the_same;
  }
  if (known == findings_.end()) findings_.push_back(std::move(finding));
  else merge(*known, finding);
}

void BlockTrace::describe_race(Finding& finding, const Conflict& conflict) const {
  const int thread = static_cast<int>(finding.thread);
  finding.both_write = conflict.both_write;
  finding.together = conflict.together;
  if (const auto around = shadow_->atomics_around(conflict.other, thread)) {
    finding.release = by_number_[around->release]->key;
    if (around->lock) finding.lock = by_number_[*around->lock]->key;
  }
  finding.scope = shadow_->block_of(conflict.other.when) != block_ ? RaceScope::grid
                  : thread / 32 == conflict.other.thread / 32      ? RaceScope::warp
                                                                   : RaceScope::block;
  if (finding.scope == RaceScope::grid) return;
  finding.other_is_first = conflict.other_is_first;
  finding.site_is_first = !conflict.other_is_first;
  if ((conflict.other_is_first ? finding.other : finding.site).act() == Act::read)
    finding.steps_to_write = conflict.steps_between;
}

void BlockTrace::note_race_with_atomic(std::size_t finding, const Site& site, int thread,
                                       std::uint64_t address, const Conflict& conflict) {
  const bool reads = site.key.act() == Act::read;
  const AccessRecord& other = conflict.other;
  if (reads ? !other.atomic : site.key.act() != Act::atomic || conflict.other_wrote) return;
  if (harmless_.size() <= finding) harmless_.resize(finding + 1);
  if (!reads && other.updates) ++harmless_[finding];
  else if (reads || shadow_->block_of(other.when) == block_)
    may_update_[{reads ? thread : other.thread, address}].push_back(finding);
}

void BlockTrace::note_update(int thread, std::uint64_t address) {
  const auto known = may_update_.find({thread, address});
  if (known == may_update_.end()) return;
  for (const std::size_t finding : known->second) ++harmless_[finding];
  may_update_.erase(known);
}

void BlockTrace::fault(int rank, std::uint64_t address) {
  const auto warp = static_cast<std::size_t>(rank / 32), lane = static_cast<std::size_t>(rank % 32);
  const WarpLog& log = warps_[warp].log;
  if (log.count[lane] == 0) return;
  const std::uint32_t row = log.count[lane] - 1;
  Finding finding;
  finding.kind = Finding::Kind::out_of_bounds;
  finding.site.bits = log.diverged ? (*log.own_site)[row][lane] : log.site[row];
  finding.block = block_;
  finding.thread = rank;
  // An instruction that requires alignment faults without an address if misaligned: the table has it.
  const std::uint64_t logged = (*log.address)[row][lane];
  const unsigned width = finding.site.width();
  if (address == 0 && logged != 0 && logged % width != 0) {
    finding.kind = Finding::Kind::misaligned;
    address = logged;
  }
  finding.address = address;
  std::string place = tracer_.place_of_fault ? tracer_.place_of_fault(address, width) : "";
  if (place.empty()) place = "address " + std::to_string(address) + ", where nothing is";
  // An index that was read beside an array is no index: that read is the mistake.
  for (std::uint32_t before = 0; before < row; ++before) {
    Site site;
    site.key.bits = log.diverged ? (*log.own_site)[before][lane] : log.site[before];
    const std::uint64_t at = (*log.address)[before][lane];
    const unsigned bytes = site.key.width();
    const Region region = bytes == 0 || at == 0 ? Region{} : region_of(at, site);
    if (region.bytes == 0 || (at >= region.first && at + bytes <= region.first + region.bytes)) continue;
    finding.kind = Finding::Kind::out_of_bounds;
    finding.site = site.key;
    finding.address = at;
    finding.array = array_of(region);
    place = place_of(at, region, bytes);
    break;
  }
  finding.text = thread_text(task_.launch, block_, static_cast<std::size_t>(rank)) +
                 access_text(finding.site) + " at " + place;
  const std::lock_guard lock(tracer_.mutex);
  tracer_.explained = true;
  tracer_.add(finding);
}

void BlockTrace::passed_without_all(SourceLocation location, bool collective,
                                    const std::function<std::string()>& text) {
  const auto kind = collective ? Finding::Kind::inactive_lane : Finding::Kind::barrier;
  for (Finding& known : findings_)
    if (known.kind == kind && same(known.location, location) && known.block <= block_) {
      ++known.times;
      return;
    }
  Finding finding;
  finding.kind = kind;
  finding.serious = false;
  finding.location = location;
  finding.block = block_;
  finding.text = text();
  findings_.push_back(std::move(finding));
}

void BlockTrace::report_deadlock(SourceLocation location, bool collective, const std::string& text) {
  Finding finding;
  finding.kind = collective ? Finding::Kind::inactive_lane : Finding::Kind::barrier;
  finding.location = location;
  finding.block = block_;
  finding.text = text;
  const std::lock_guard lock(tracer_.mutex);
  tracer_.explained = true;
  tracer_.add(finding);
}

}  // namespace tessera::simt
