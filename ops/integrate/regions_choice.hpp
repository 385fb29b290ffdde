// SPDX-License-Identifier: Apache-2.0
// Cubature by regions: which of them are split, found from a histogram of their errors, and the list of those
// in the order of their places.
#pragma once
#include "regions.hpp"

namespace tessera::integration {
inline namespace TESSERA_UNIT {

constexpr int bins_of_lane = region_bins / 32;

SIMT int ones(std::uint32_t word) {
  word -= word >> 1 & 0x55555555u;
  word = (word & 0x33333333u) + (word >> 2 & 0x33333333u);
  return static_cast<int>(((word + (word >> 4)) & 0x0f0f0f0fu) * 0x01010101u >> 24);
}

template <class T>
SIMT T least_of_warp(const Thread& thread, T mine) {
  for (int apart = 1; apart < 32; apart *= 2) {
    const T other = thread.shuffle_xor(mine, apart);
    if (other < mine) mine = other;
  }
  return mine;
}
template <class T>
SIMT T sum_of_warp(const Thread& thread, T mine) {
  for (int apart = 1; apart < 32; apart *= 2) mine += thread.shuffle_xor(mine, apart);
  return mine;
}
// Of the lanes before this one; with `from_end`, of those behind it.
template <class T>
SIMT T sum_before(const Thread& thread, T mine, bool from_end) {
  T out = mine;
  for (int by = 1; by < 32; by *= 2) {
    const T other = from_end ? thread.shuffle_down(out, by) : thread.shuffle_up(out, by);
    if (from_end ? thread.lane() + by < 32 : thread.lane() >= by) out += other;
  }
  return out - mine;
}

// How many regions have errors of which size; from that, which are split.
template <class T>
struct WeighRegions {
  static constexpr int threads = steering_threads;
  struct Shared {
    std::uint32_t bins[region_bins];
    int last;
  };

  // The first bin whose regions cannot all stay whole, seen from below.
  SIMT static int first_split(const Thread& thread, const Shared& shared) {
    const int mine = thread.lane() * bins_of_lane;
    double cost[bins_of_lane], of_lane = 0;
    for (int i = 0; i < bins_of_lane; ++i)
      of_lane += cost[i] = shared.bins[mine + i] * region_bin_end(mine + i);
    double held = sum_before(thread, of_lane, false);
    int first = region_bins - 1;  // of the last one nothing is known
    for (int i = bins_of_lane - 1; i >= 0; --i) {
      double up_to = held;
      for (int k = 0; k <= i; ++k) up_to += cost[k];
      if (!(up_to <= 1) && mine + i < first) first = mine + i;
    }
    return least_of_warp(thread, first);
  }

  // The first bin from `least` on for whose regions and those above there is room.
  SIMT static int first_with_room(const Thread& thread, const Shared& shared, int least, long long room) {
    const int mine = thread.lane() * bins_of_lane;
    long long of_lane = 0;
    for (int i = 0; i < bins_of_lane; ++i) of_lane += shared.bins[mine + i];
    long long above = sum_before(thread, of_lane, true);
    int first = region_bins;
    for (int i = bins_of_lane - 1; i >= 0; --i) {
      above += shared.bins[mine + i];
      if (above <= room && mine + i >= least) first = mine + i;
    }
    return least_of_warp(thread, first);
  }

  SIMT static long long from_bin_on(const Thread& thread, const Shared& shared, int first) {
    long long count = 0;
    for (int bin = thread.lane(); bin < region_bins; bin += 32) count += bin >= first ? shared.bins[bin] : 0;
    return sum_of_warp(thread, count);
  }

  // By the lanes of one warp.
  SIMT static void decide(const Thread& thread, const Shared& shared, const RegionFrame& f) {
    RegionState& s = *f.state;
    const long long by_cap = (f.most_evaluations - s.evaluations) / (2 * static_cast<long long>(f.points));
    const long long by_place = f.capacity - s.regions, room = by_cap < by_place ? by_cap : by_place;
    const int wanted = first_split(thread, shared), first = first_with_room(thread, shared, wanted, room);
    const long long splitting = from_bin_on(thread, shared, first),
                    all_wanted = from_bin_on(thread, shared, wanted);
    if (thread.lane() != 0) return;
    const int cap = by_place < by_cap ? region_full : region_evaluations;
    s.bin = first;
    s.splitting = splitting;
    s.cap = splitting < all_wanted ? cap : region_running;
    // Nothing wanted: the errors are small enough, and it is rounding that is not.
    if (all_wanted == 0) s.status = region_roundoff;
    else if (splitting == 0 || (s.cap == region_full && f.may_grow != 0)) s.status = s.cap;
    if (s.status == region_running) return;
    s.splitting = 0;
    s.cap = region_running;
  }

  SIMT void operator()(Thread thread, Shared& shared, const RegionFrame& f) const {
    const RegionState& s = *f.state;
    if (s.status != region_running) return;
    const double* const errors = f.field + (2 * f.d + 1) * f.capacity;
    for (int bin = thread.rank(); bin < region_bins; bin += threads) shared.bins[bin] = 0;
    thread.sync();
    each_chunk(thread, chunks_of(s.regions), [&](long long chunk) {
      each_of_chunk(thread, chunk, s.regions, [&](long long at) {
        if (at < s.regions) (void)thread.atomic_add(&shared.bins[region_bin(errors[at], s.budget)], 1u);
      });
    });
    thread.sync();
    auto* const all = reinterpret_cast<std::uint32_t*>(f.histogram);
    for (int bin = thread.rank(); bin < region_bins; bin += threads)
      if (shared.bins[bin] != 0) (void)thread.atomic_add(&all[bin], shared.bins[bin]);
    if (!finishes_last(thread, shared.last, &f.state->done[1])) return;
    for (int bin = thread.rank(); bin < region_bins; bin += threads)
      shared.bins[bin] = thread.atomic_exchange(&all[bin], 0u);
    thread.sync();
    if (thread.warp() == 0) decide(thread, shared, f);
  }
};

SIMT bool is_split(const RegionFrame& f, long long region) {
  const double error = f.field[(2 * f.d + 1) * f.capacity + region];
  return region_bin(error, f.state->budget) >= f.state->bin;
}

// How many of each chunk are split; then, how many of all chunks before it.
template <class T>
struct CountRegions {
  static constexpr int threads = steering_threads;
  struct Shared {
    std::uint32_t sums[steering_threads];
    int last;
  };

  SIMT static void add_up(const Thread& thread, Shared& shared, unsigned* counts, long long chunks) {
    const int me = thread.rank();
    const long long each = (chunks + threads - 1) / threads, first = me * each,
                    end = first + each < chunks ? first + each : chunks;
    std::uint32_t mine = 0;
    for (long long i = first; i < end; ++i) mine += counts[i];
    const std::uint32_t before_lane = sum_before(thread, mine, false);
    if (thread.lane() == 31) shared.sums[thread.warp()] = before_lane + mine;
    thread.sync();
    std::uint32_t before = before_lane;
    for (int warp = 0; warp < thread.warp(); ++warp) before += shared.sums[warp];
    for (long long i = first; i < end; ++i) {
      const std::uint32_t count = counts[i];
      counts[i] = before;
      before += count;
    }
  }

  SIMT void operator()(Thread thread, Shared& shared, const RegionFrame& f) const {
    if (f.state->status != region_running) return;
    const long long regions = f.state->regions, chunks = chunks_of(regions);
    each_chunk(thread, chunks, [&](long long chunk) {
      unsigned count = 0;
      each_of_chunk(thread, chunk, regions, [&](long long at) { count += at < regions && is_split(f, at); });
      count = sum_of_warp(thread, count);
      if (thread.lane() == 0) f.counts[chunk] = count;
    });
    if (finishes_last(thread, shared.last, &f.state->done[0])) add_up(thread, shared, f.counts, chunks);
  }
};

template <class T>
struct ListRegions {
  static constexpr int threads = steering_threads;
  struct Shared {};

  SIMT void operator()(Thread thread, Shared&, const RegionFrame& f) const {
    if (f.state->status != region_running) return;
    const long long regions = f.state->regions;
    each_chunk(thread, chunks_of(regions), [&](long long chunk) {
      long long to = f.counts[chunk];
      each_of_chunk(thread, chunk, regions, [&](long long at) {
        const std::uint32_t chosen = thread.ballot(at < regions && is_split(f, at));
        const std::uint32_t before = chosen & ((1u << thread.lane()) - 1);
        if ((chosen >> thread.lane() & 1) != 0) f.list[to + ones(before)] = at;
        to += ones(chosen);
      });
    });
  }
};

}  // namespace TESSERA_UNIT
}  // namespace tessera::integration
