// SPDX-License-Identifier: Apache-2.0
// Checking: the rows of a warp's table in an order that the threads could have had, and words for what
// is found.
#include <algorithm>
#include <bit>
#include "tessera/simt/block_trace.hpp"
#include "tessera/simt/deeds.hpp"

namespace tessera::simt {
namespace {

std::size_t first_lane(std::uint32_t lanes) { return static_cast<std::size_t>(std::countr_zero(lanes)); }

std::uint64_t number(const void* address) { return reinterpret_cast<std::uint64_t>(address); }

}  // namespace

// Each lane in its own order as far as its next collective, where it waits for those it names.
void BlockTrace::check_parted(std::size_t warp) {
  WarpLog& log = warps_[warp].log;
  std::array<std::uint32_t, lanes_per_warp> at{};
  for (bool more = true; more;) {
    more = false;
    LaneAddresses meeting{};
    for (std::size_t lane = 0; lane < lanes_per_warp; ++lane)
      for (; at[lane] < log.count[lane]; ++at[lane]) {
        Site& site = site_of((*log.own_site)[at[lane]][lane], at[lane]);
        const std::uint64_t address = (*log.address)[at[lane]][lane];
        if (site.key.act() == Act::collective) {
          meeting[lane] = address;
          break;
        }
        if (site.key.act() == Act::fence) shadow_->fence(static_cast<int>(warp * 32 + lane));
        else check_lane(warp, site, lane, address);
      }
    for (std::uint32_t passed = pass_meetings(warp, meeting); passed != 0; passed &= passed - 1) {
      ++at[first_lane(passed)];
      more = true;
    }
  }
}

// The lanes of collectives at which all stand that are named; 0 in a row: the lane is at none.
std::uint32_t BlockTrace::pass_meetings(std::size_t warp, LaneAddresses& row) {
  std::uint32_t passed = 0;
  for (std::size_t lane = 0; lane < lanes_per_warp; ++lane) {
    const auto named = static_cast<std::uint32_t>(row[lane]);
    if (named == 0 || (passed >> lane & 1) != 0) continue;
    bool all = true;
    for (std::uint32_t left = named; left != 0; left &= left - 1) all = all && row[first_lane(left)] == named;
    if (!all) continue;
    shadow_->met(warp, named);
    passed |= named;
  }
  return passed;
}

// Fences and collectives among the rows.
void BlockTrace::order(std::size_t warp, Act act, const LaneAddresses& lanes, std::uint32_t active) {
  LaneAddresses row{};
  for (std::uint32_t left = active; left != 0; left &= left - 1) {
    const std::size_t lane = first_lane(left);
    row[lane] = lanes[lane];
    if (act == Act::fence) shadow_->fence(static_cast<int>(warp * 32 + lane));
  }
  if (act == Act::collective) pass_meetings(warp, row);
}

void BlockTrace::check(std::size_t warp, Site& site, Space space, const LaneAddresses& address,
                       std::uint32_t active) {
  const Act act = site.key.act();
  const unsigned width = site.key.width();
  if (space == Space::global && tracer_.arrays[site.array].input) return;
  const std::uint64_t first = space == Space::shared ? shared_ : number(tracer_.arrays[site.array].data);
  for (std::uint32_t left = active; left != 0; left &= left - 1) {
    const std::size_t lane = first_lane(left);
    const int thread = static_cast<int>(warp * 32 + lane);
    const std::uint64_t offset = address[lane] - first;
    if (space == Space::shared && act == Act::read && shadow_->is_usual_read(offset, width, thread)) continue;
    const Conflict conflict =
        space == Space::shared
            ? shadow_->shared(offset, width, act, thread, site.number)
            : shadow_->global(site.array, offset, width, act, thread, site.number, address[lane]);
    if (conflict.kind != Conflict::Kind::none) tell(conflict, site, warp, lane, address[lane]);
  }
}

void BlockTrace::check_lane(std::size_t warp, Site& site, std::size_t lane, std::uint64_t address) {
  const Region region = region_of(address, site.array);
  if (region.bytes == 0 || address < region.first || address + site.key.width() > region.first + region.bytes)
    return;
  if (region.space == Space::global) site.array = region.array;
  LaneAddresses row;
  row[lane] = address;
  check(warp, site, region.space, row, 1u << lane);
}

void BlockTrace::tell(const Conflict& conflict, const Site& site, std::size_t warp, std::size_t lane,
                      std::uint64_t address) {
  find(conflict.kind == Conflict::Kind::race ? Finding::Kind::race : Finding::Kind::uninitialised, site, warp,
       lane, address, conflict);
}

void BlockTrace::find(Finding::Kind kind, const Site& site, std::size_t warp, std::size_t lane,
                      std::uint64_t address, const Conflict& conflict) {
  Finding finding{.kind = kind, .site = site.key, .other = {}, .text = {}, .block = block_};
  const Region region = region_of(address, site.array);
  finding.text = who(task_.launch, block_, warp * 32 + lane) + deed(site.key) + " at " +
                 (region.space == Space::shared ? place_in_shared(address, region.first)
                                                : place_in(tracer_.arrays[region.array], address));
  if (kind == Finding::Kind::uninitialised) finding.text += ", which no thread of the block has written";
  if (kind == Finding::Kind::race) {
    finding.other = by_number_[conflict.other.site]->key;
    finding.text +=
        race_with(task_.launch, shadow_->block_of(conflict.other.when), conflict.other.thread, finding.other);
  }
  const std::lock_guard lock(tracer_.mutex);
  tracer_.add(finding);
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
  finding.text = who(task_.launch, block_, static_cast<std::size_t>(rank)) + deed(finding.site) +
                 " at address " + std::to_string(address) + ", where nothing is";
  const std::lock_guard lock(tracer_.mutex);
  tracer_.told = true;
  tracer_.add(finding);
}

void BlockTrace::wait_in_vain(Here here, const std::string& text) {
  Finding finding;
  finding.kind = Finding::Kind::barrier;
  finding.here = here;
  finding.block = block_;
  finding.text = text;
  const std::lock_guard lock(tracer_.mutex);
  tracer_.told = true;
  tracer_.add(finding);
}

}  // namespace tessera::simt
