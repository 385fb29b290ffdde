// SPDX-License-Identifier: Apache-2.0
// Counting: what the rows of a warp's table cost.
#include <algorithm>
#include <bit>
#include "tessera/simt/block_trace.hpp"

namespace tessera::simt {
namespace {

std::size_t first_lane(std::uint32_t lanes) { return static_cast<std::size_t>(std::countr_zero(lanes)); }

std::uint64_t number(const void* address) { return reinterpret_cast<std::uint64_t>(address); }

// Sectors and lines depend on where in a line the first lane is; wavefronts only on where in a word, for
// a shift by whole words turns all banks alike.
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
  if (space == Space::shared) return low >= shared_ && high <= shared_ + task_.shared_bytes;
  const TracedArray& array = tracer_.arrays[site.array];
  return low >= number(array.data) && high <= number(array.data) + array.bytes;
}

void BlockTrace::count(std::size_t warp, Site& site, Space space, std::uint32_t active,
                       const RequestCost& cost) {
  AccessCounts& counts = site.counts[static_cast<int>(space)];
  const auto lanes = static_cast<std::uint64_t>(std::popcount(active));
  ++counts.requests;
  counts.divergent += active != warps_[warp].present;
  counts.accesses += lanes;
  counts.bytes += lanes * site.key.width();
  counts.distinct_bytes += cost.distinct_bytes;
  counts.sectors += cost.sectors;
  counts.ideal_sectors += cost.ideal_sectors;
  counts.lines += cost.lines;
  counts.wavefronts += cost.wavefronts;
  counts.ideal_wavefronts += cost.ideal_wavefronts;
}

void BlockTrace::request(std::size_t warp, Site& site, LaneAddresses& address, std::uint32_t active,
                         bool checked) {
  const Act act = site.key.act();
  if (act == Act::collective || act == Act::fence) {
    if (act == Act::fence) communicates_ = true;
    if (checked) order(warp, act, address, active);
    return;
  }
  const std::uint64_t base = address[first_lane(active)];
  for (std::uint32_t idle = ~active; idle != 0; idle &= idle - 1) address[first_lane(idle)] = base;
  const Space space = base - shared_ < task_.shared_bytes ? Space::shared : Space::global;
  if (as_before(site, space, address, active)) {
    count(warp, site, space, active, site.pattern[static_cast<int>(space)].cost);
    if (checked) check(warp, site, space, address, active);
    return;
  }
  request_by_lane(warp, site, address, active, checked);
}

BlockTrace::Region BlockTrace::region_of(std::uint64_t address, std::size_t hint) const {
  if (address - (shared_ - shared_red_zone) < task_.shared_bytes + 2 * shared_red_zone)
    return {Space::shared, 0, shared_, task_.shared_bytes};
  const auto& arrays = tracer_.arrays;
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    const std::size_t at = (hint + i) % arrays.size();
    const std::uint64_t first = number(arrays[at].data), zone = arrays[at].red_zone_bytes;
    if (address - (first - zone) < arrays[at].bytes + 2 * zone)
      return {Space::global, at, first, arrays[at].bytes};
  }
  return {};
}

// Lane by lane: what lies outside of everything known is the thread's own business or the program's.
void BlockTrace::request_by_lane(std::size_t warp, Site& site, const LaneAddresses& address,
                                 std::uint32_t active, bool checked) {
  const unsigned width = site.key.width();
  std::uint32_t in[2] = {0, 0};
  bool one_array = true;
  for (std::uint32_t left = active; left != 0; left &= left - 1) {
    const std::size_t lane = first_lane(left);
    const Region region = region_of(address[lane], site.array);
    if (region.bytes == 0) continue;
    if (address[lane] < region.first || address[lane] + width > region.first + region.bytes) {
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
    }
    if (checked) check(warp, site, region.space, address, 1u << lane);
    in[static_cast<int>(region.space)] |= 1u << lane;
  }
  for (const Space space : {Space::global, Space::shared}) {
    const std::uint32_t lanes = in[static_cast<int>(space)];
    if (lanes == 0) continue;
    const RequestCost cost =
        space == Space::global ? global_cost(address, lanes, width) : shared_cost(address, lanes, width);
    count(warp, site, space, lanes, cost);
    if (lanes != active || !one_array) continue;
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

}  // namespace tessera::simt
