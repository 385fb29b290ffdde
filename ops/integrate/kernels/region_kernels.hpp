// SPDX-License-Identifier: Apache-2.0
// Cubature by regions, breadth first: the kernels that steer it. Whatever the formula, they add up what the
// regions say, decide which of them are split, and list those in the order of their places; so the same
// regions come about on every device and with every launch.
//
// All regions are kept. In each round those are split whose errors are so large that the errors of all others
// together are three quarters of what is allowed: an algorithm that takes the worst region each time would
// have to split every one of them, too.
#pragma once
#include <cstdint>
#include "ops/integrate/quadrature/region_bins.hpp"
#include "tessera/kernel.hpp"

namespace tessera::integration {
inline namespace TESSERA_UNIT {

#define REGION_FN SIMT
#define REGION_UNROLL SIMT_UNROLL
#define REGION_NO_UNROLL SIMT_NO_UNROLL
constexpr int region_unrolled = 1;
#include "ops/integrate/quadrature/region_estimate-inl.h"
#include "ops/integrate/kernels/regions-inl.h"

constexpr int steering_threads = 256;
constexpr long long most_chunks = 8192;

// Regions that a warp takes together: so many that the block which finishes has little left to do.
SIMT long long chunk_of(long long regions) {
  long long out = 32;
  while (out * most_chunks < regions) out *= 2;
  return out;
}
SIMT long long chunks_of(long long regions) {
  const long long each = chunk_of(regions);
  return (regions + each - 1) / each;
}

// The regions of one chunk, a warp's lanes side by side.
template <class Each>
SIMT void each_of_chunk(const Thread& thread, long long chunk, long long regions, Each each) {
  const long long size = chunk_of(regions), first = chunk * size;
  for (long long at = first; at < first + size && at < regions; at += 32) each(at + thread.lane());
}

// Chunks are dealt to the grid's warps.
template <class Each>
SIMT void each_chunk(const Thread& thread, long long chunks, Each each) {
  const long long warps = static_cast<long long>(thread.grid().x) * (steering_threads / 32);
  for (long long chunk = static_cast<long long>(thread.block().x) * (steering_threads / 32) + thread.warp();
       chunk < chunks; chunk += warps)
    each(chunk);
}

// Whether this block finishes after all others, so that it sees what they wrote.
SIMT bool finishes_last(const Thread& thread, int& last, unsigned* done) {
  thread.fence();
  thread.sync();
  if (thread.rank() == 0) {
    auto* const count = reinterpret_cast<std::uint32_t*>(done);
    last = thread.atomic_add(count, 1u) == static_cast<std::uint32_t>(thread.grid().x) - 1;
    if (last != 0) (void)thread.atomic_exchange(count, 0u);
    thread.fence();
  }
  thread.sync();
  return last != 0;
}

// Value, error, magnitude, weighed; and the largest error.
struct RegionTotals {
  double total[4] = {0, 0, 0, 0}, largest = 0;

  SIMT void join(const RegionTotals& other) {
    for (int k = 0; k < 4; ++k) total[k] += other.total[k];
    if (!(other.largest <= largest)) largest = other.largest;
  }
};

template <class T>
struct AddUpRegions {
  static constexpr int threads = steering_threads;
  struct Shared {
    double value[5][steering_threads];
    int last;
  };

  SIMT static void leave_chunk(const Thread& thread, const RegionFrame& f, long long chunk,
                               long long regions) {
    const double* const results = f.field + 2 * f.d * f.capacity;
    RegionTotals mine;
    each_of_chunk(thread, chunk, regions, [&](long long at) {
      if (at >= regions) return;
      const double error = results[f.capacity + at];
      mine.join({{results[at], error, results[2 * f.capacity + at], results[3 * f.capacity + at]}, error});
    });
    for (int apart = 1; apart < 32; apart *= 2) {
      RegionTotals other;
      for (int k = 0; k < 4; ++k) other.total[k] = thread.shuffle_xor(mine.total[k], apart);
      other.largest = thread.shuffle_xor(mine.largest, apart);
      mine.join(other);
    }
    if (thread.lane() != 0) return;
    for (int k = 0; k < 4; ++k) f.partials[5 * chunk + k] = mine.total[k];
    f.partials[5 * chunk + 4] = mine.largest;
  }

  // By one block: each thread some partial sums, then two threads' sums into one.
  SIMT static RegionTotals finish(const Thread& thread, Shared& shared, const RegionFrame& f,
                                  long long chunks) {
    const int me = thread.rank();
    RegionTotals mine;
    for (long long i = me; i < chunks; i += threads) {
      const double* const p = f.partials + 5 * i;
      mine.join({{p[0], p[1], p[2], p[3]}, p[4]});
    }
    for (int width = threads; width > 1; width /= 2) {
      if (me >= width / 2 && me < width) {
        for (int k = 0; k < 4; ++k) shared.value[k][me] = mine.total[k];
        shared.value[4][me] = mine.largest;
      }
      thread.sync();
      if (me < width / 2) {
        RegionTotals other;
        for (int k = 0; k < 4; ++k) other.total[k] = shared.value[k][me + width / 2];
        other.largest = shared.value[4][me + width / 2];
        mine.join(other);
      }
    }
    return mine;
  }

  SIMT static void summarize(const RegionFrame& f, const RegionTotals& all) {
    RegionState& s = *f.state;
    s.evaluations += static_cast<long long>(f.points) * (s.fresh != 0 ? s.regions : 2 * s.splitting);
    s.regions += s.splitting;
    s.splitting = 0;
    s.fresh = 0;
    ++s.rounds;
    s.value = all.total[0];
    s.error = all.total[1];
    s.magnitude = all.total[2];
    s.weighed = all.total[3];
    s.largest = all.largest;
    constexpr double unit = 0x1p-53;
    const double rounding = 8 * unit * s.weighed, relative = f.relative * region_size(s.value),
                 allowed = relative > f.absolute ? relative : f.absolute;
    const double aim = region_aim(allowed, rounding, f.relative, s.magnitude, s.error);
    s.budget = (aim - rounding) * region_share;
    const bool finite = allowed - allowed == 0;  // what is infinite allows everything
    if (finite && s.error + rounding <= allowed) s.status = region_converged;
    else if (!finite || !(s.budget > 0) || s.error + rounding <= aim || s.largest <= 50 * unit * s.weighed)
      s.status = region_roundoff;
    else s.status = s.cap;
  }

  SIMT void operator()(Thread thread, Shared& shared, const RegionFrame& f) const {
    if (f.state->status != region_running) return;
    const long long regions = f.state->regions + f.state->splitting, chunks = chunks_of(regions);
    each_chunk(thread, chunks, [&](long long chunk) { leave_chunk(thread, f, chunk, regions); });
    if (!finishes_last(thread, shared.last, &f.state->done[0])) return;
    const RegionTotals all = finish(thread, shared, f, chunks);
    if (thread.rank() == 0) summarize(f, all);
  }
};

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
