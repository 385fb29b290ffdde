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
#include "ops/integrate/rules/region_bins.hpp"
#include "tessera/formula/elementary.hpp"
#include "tessera/kernel.hpp"

namespace tessera::integration {
inline namespace TESSERA_UNIT {

#define REGION_FN SIMT
#define REGION_UNROLL SIMT_UNROLL
#define REGION_NO_UNROLL SIMT_NO_UNROLL
#define REGION_SINH formula::elementary::sinh
#define REGION_COSH formula::elementary::cosh
constexpr int region_unrolled = 1;
#include "ops/integrate/rules/region_estimate-inl.h"
#include "region_rule-inl.h"
#include "region_split-inl.h"

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

  SIMT static void conclude(const RegionFrame& f, const RegionTotals& all) {
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
    if (thread.rank() == 0) conclude(f, all);
  }
};

}  // namespace TESSERA_UNIT
}  // namespace tessera::integration
