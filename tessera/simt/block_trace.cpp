// SPDX-License-Identifier: Apache-2.0
#include "tessera/simt/block_trace.hpp"
#include <algorithm>
#include <bit>
#include <utility>

namespace tessera::simt {
namespace {

std::size_t first_lane(std::uint32_t lanes) { return static_cast<std::size_t>(std::countr_zero(lanes)); }

std::uint64_t number(const void* address) { return reinterpret_cast<std::uint64_t>(address); }

}  // namespace

BlockTrace::BlockTrace(const Task& task, const char* shared, void (*make_room)(LaneLog&), void* owner)
    : task_(task), tracer_(*task.tracer), shared_(number(shared)) {
  const auto threads = static_cast<std::size_t>(task.launch.threads());
  warps_.resize((threads + 31) / 32);
  lanes_.resize(threads);
  for (std::size_t i = 0; i < threads; ++i) {
    warps_[i / 32].present |= 1u << i % 32;
    lanes_[i] = {.warp = &warps_[i / 32].log,
                 .lane = static_cast<std::uint32_t>(i % 32),
                 .make_room = make_room,
                 .owner = owner};
  }
  if (!tracer_.check) return;
  std::vector<std::size_t> bytes;
  for (const TracedArray& array : tracer_.arrays) bytes.push_back(array.input ? 0 : array.bytes);
  shadow_ = std::make_unique<Shadow>(threads, task.shared_bytes, bytes);
}

BlockTrace::~BlockTrace() {
  const std::lock_guard lock(tracer_.mutex);
  for (const auto& [key, site] : sites_)
    for (const Space space : {Space::global, Space::shared})
      if (const AccessCounts& counts = site->counts[static_cast<int>(space)]; counts.requests != 0)
        tracer_.add(SiteCounts{site->key, space, counts});
  for (const BarrierCounts& barrier : barriers_) tracer_.add(barrier);
  tracer_.blocks_communicate = tracer_.blocks_communicate || communicates_;
  tracer_.blocks_run += blocks_;
  tracer_.warps += blocks_ * warps_.size();
  tracer_.threads += blocks_ * lanes_.size();
}

WorkerShadow BlockTrace::take_shadow() {
  WorkerShadow out{std::move(shadow_), {}};
  for (const Site* site : by_number_) out.sites.push_back(site->key);
  return out;
}

void BlockTrace::begin(std::int64_t block) {
  block_ = block;
  ++blocks_;
  if (shadow_) shadow_->begin(block);
  for (WarpState& warp : warps_) {
    warp.running = warp.present;
    warp.returned = warp.full = 0;
    warp.log.count.fill(0);
    warp.log.site.fill(0);
    warp.log.diverged = false;
  }
}

void BlockTrace::resume(int rank, const Stack& stack) {
  LaneLog& lane = lanes_[static_cast<std::size_t>(rank)];
  lane.stack_low = number(stack.low);
  lane.stack_bytes = stack.bytes;
  recording = &lane;
}

bool BlockTrace::leaves_out(Here here) const {
  return std::ranges::any_of(tracer_.without, [here](Here other) { return same(other, here); });
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

void BlockTrace::passed_barrier(Here here) {
  if (shadow_) shadow_->barrier();
  for (WarpState& warp : warps_) warp.running = warp.present & ~warp.returned;
  const auto known =
      std::ranges::find_if(barriers_, [here](const BarrierCounts& b) { return same(b.here, here); });
  if (known == barriers_.end()) barriers_.push_back({here, 1});
  else ++known->times;
}

void BlockTrace::met(std::size_t warp, std::uint32_t lanes) {
  if (*std::ranges::max_element(warps_[warp].log.count) == WarpLog::rows) read_table(warp);
  for (std::uint32_t left = lanes; left != 0; left &= left - 1)
    record(lanes_[warp * 32 + first_lane(left)], lanes, SiteKey::of(nullptr, Act::collective, 0));
}

void BlockTrace::read_table(std::size_t warp) {
  WarpLog& log = warps_[warp].log;
  const std::uint32_t rows = *std::ranges::max_element(log.count);
  if (rows == 0) return;
  // No signal that ends a kernel may end this.
  ThreadPlace* const running = std::exchange(place, nullptr);
  if (log.diverged) read_parted(warp);
  else read_rows(warp);
  std::fill_n(log.site.begin(), rows, 0);
  log.count.fill(0);
  log.diverged = false;
  place = running;
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
  for (std::uint32_t row = 0; row < most; ++row) {
    std::uint32_t active = ~0u;
    if (row >= fewest) {
      active = 0;
      for (std::uint32_t lane = 0; lane < lanes_per_warp; ++lane)
        active |= static_cast<std::uint32_t>(log.count[lane] > row) << lane;
    }
    request(warp, site_of(log.site[row], row), (*log.address)[row], active, shadow_ != nullptr);
  }
}

void BlockTrace::read_parted(std::size_t warp) {
  if (shadow_) check_parted(warp);
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
  for (Group& group : groups) request(warp, *group.site, group.address, group.active, false);
}

}  // namespace tessera::simt
