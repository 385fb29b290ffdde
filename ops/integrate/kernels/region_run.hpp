// SPDX-License-Identifier: Apache-2.0
// Breadth-first adaptive cubature by regions, on the executor and on GPUs. Kernels sum the regions' results,
// decide which regions are split, and list these in index order, so every device and every launch yields the
// same regions. The host allocates memory, makes the first regions, and launches rounds until the state in
// device memory says that the run is over; it reads that state only every few rounds.
//
// All regions are kept. Each round splits the regions with the largest errors, so many that the errors of all
// others together are three quarters of the allowed error: an algorithm that always splits the worst region
// would have to split each of them, too.
#pragma once
#include <cmath>
#include <cstdint>
#include <vector>
#include "ops/integrate/kernels/device_run.hpp"
#include "ops/integrate/quadrature/several_variables/adaptive_cubature.hpp"
#include "ops/integrate/quadrature/several_variables/genz_malik.hpp"
#include "tessera/core/text/error.hpp"
#include "tessera/rung.hpp"

namespace tessera::integration {
inline namespace TESSERA_UNIT {

#define REGION_FN SIMT
#define REGION_UNROLL SIMT_UNROLL
#define REGION_NO_UNROLL SIMT_NO_UNROLL
constexpr int region_unrolled = 1;
#include "ops/integrate/quadrature/several_variables/region_estimate-inl.h"
#include "ops/integrate/kernels/regions-inl.h"

constexpr int steering_threads = 256;
constexpr long long max_chunks = 8192;

// Returns the number of regions in a chunk, which one warp processes: enough that the finishing block has
// little left to do.
SIMT long long chunk_of(long long regions) {
  long long out = 32;
  while (out * max_chunks < regions) out *= 2;
  return out;
}
SIMT long long chunks_of(long long regions) {
  const long long each = chunk_of(regions);
  return (regions + each - 1) / each;
}

// Visits the regions of one chunk, one per lane.
template <class Each>
SIMT void each_of_chunk(const Thread& thread, long long chunk, long long regions, Each each) {
  const long long size = chunk_of(regions), first = chunk * size;
  for (long long at = first; at < first + size && at < regions; at += 32) each(at + thread.lane());
}

// Distributes the chunks over the grid's warps.
template <class Each>
SIMT void each_chunk(const Thread& thread, long long chunks, Each each) {
  const long long warps = static_cast<long long>(thread.grid().x) * (steering_threads / 32);
  for (long long chunk = static_cast<long long>(thread.block().x) * (steering_threads / 32) + thread.warp();
       chunk < chunks; chunk += warps)
    each(chunk);
}

// True if this block finishes after all others and therefore sees their writes.
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

// Sums of value, error, magnitude and weighed; and the largest error.
struct RegionTotals {
  double total[4] = {0, 0, 0, 0}, largest = 0;

  SIMT void join(const RegionTotals& other) {
    for (int k = 0; k < 4; ++k) total[k] += other.total[k];
    if (!(other.largest <= largest)) largest = other.largest;
  }
};

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

  // Run by one block. Each thread adds some partial sums, then the threads' sums are joined pairwise.
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
    const bool finite = allowed - allowed == 0;  // an infinite bound would allow any error
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
SIMT T min_of_warp(const Thread& thread, T mine) {
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
// Returns the sum over the lanes before this one; with `from_end`, over the lanes after it.
template <class T>
SIMT T sum_before(const Thread& thread, T mine, bool from_end) {
  T out = mine;
  for (int by = 1; by < 32; by *= 2) {
    const T other = from_end ? thread.shuffle_down(out, by) : thread.shuffle_up(out, by);
    if (from_end ? thread.lane() + by < 32 : thread.lane() >= by) out += other;
  }
  return out - mine;
}

// Makes a histogram of the regions' errors, and decides from it which regions are split.
struct WeighRegions {
  static constexpr int threads = steering_threads;
  struct Shared {
    std::uint32_t bins[region_bins];
    int last;
  };

  // Returns the lowest bin whose regions cannot all stay whole.
  SIMT static int first_split(const Thread& thread, const Shared& shared) {
    const int mine = thread.lane() * bins_of_lane;
    double cost[bins_of_lane], of_lane = 0;
    for (int i = 0; i < bins_of_lane; ++i)
      of_lane += cost[i] = shared.bins[mine + i] * region_bin_end(mine + i);
    double held = sum_before(thread, of_lane, false);
    int first = region_bins - 1;  // the last bin has no upper bound
    for (int i = bins_of_lane - 1; i >= 0; --i) {
      double up_to = held;
      for (int k = 0; k <= i; ++k) up_to += cost[k];
      if (!(up_to <= 1) && mine + i < first) first = mine + i;
    }
    return min_of_warp(thread, first);
  }

  // Returns the lowest bin from `least` on whose regions, with those of all higher bins, fit the capacity.
  SIMT static int first_that_fits(const Thread& thread, const Shared& shared, int least,
                                  long long capacity_left) {
    const int mine = thread.lane() * bins_of_lane;
    long long of_lane = 0;
    for (int i = 0; i < bins_of_lane; ++i) of_lane += shared.bins[mine + i];
    long long above = sum_before(thread, of_lane, true);
    int first = region_bins;
    for (int i = bins_of_lane - 1; i >= 0; --i) {
      above += shared.bins[mine + i];
      if (above <= capacity_left && mine + i >= least) first = mine + i;
    }
    return min_of_warp(thread, first);
  }

  SIMT static long long from_bin_on(const Thread& thread, const Shared& shared, int first) {
    long long count = 0;
    for (int bin = thread.lane(); bin < region_bins; bin += 32) count += bin >= first ? shared.bins[bin] : 0;
    return sum_of_warp(thread, count);
  }

  // Run by one warp.
  SIMT static void decide(const Thread& thread, const Shared& shared, const RegionFrame& f) {
    RegionState& s = *f.state;
    const long long by_cap = (f.most_evaluations - s.evaluations) / (2 * static_cast<long long>(f.points));
    const long long by_place = f.capacity - s.regions, capacity_left = by_cap < by_place ? by_cap : by_place;
    const int wanted = first_split(thread, shared),
              first = first_that_fits(thread, shared, wanted, capacity_left);
    const long long splitting = from_bin_on(thread, shared, first),
                    all_wanted = from_bin_on(thread, shared, wanted);
    if (thread.lane() != 0) return;
    const int cap = by_place < by_cap ? region_full : region_evaluations;
    s.bin = first;
    s.splitting = splitting;
    s.cap = splitting < all_wanted ? cap : region_running;
    // No region need be split, because the errors are small enough, but rounding is not.
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

SIMT bool must_split(const RegionFrame& f, long long region) {
  const double error = f.field[(2 * f.d + 1) * f.capacity + region];
  return region_bin(error, f.state->budget) >= f.state->bin;
}

// Counts the regions to split of each chunk, then replaces the counts by their exclusive prefix sum.
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
      each_of_chunk(thread, chunk, regions,
                    [&](long long at) { count += at < regions && must_split(f, at); });
      count = sum_of_warp(thread, count);
      if (thread.lane() == 0) f.counts[chunk] = count;
    });
    if (finishes_last(thread, shared.last, &f.state->done[0])) add_up(thread, shared, f.counts, chunks);
  }
};

struct ListRegions {
  static constexpr int threads = steering_threads;
  struct Shared {};

  SIMT void operator()(Thread thread, Shared&, const RegionFrame& f) const {
    if (f.state->status != region_running) return;
    const long long regions = f.state->regions;
    each_chunk(thread, chunks_of(regions), [&](long long chunk) {
      long long to = f.counts[chunk];
      each_of_chunk(thread, chunk, regions, [&](long long at) {
        const std::uint32_t chosen = thread.ballot(at < regions && must_split(f, at));
        const std::uint32_t before = chosen & ((1u << thread.lane()) - 1);
        if ((chosen >> thread.lane() & 1) != 0) f.list[to + ones(before)] = at;
        to += ones(chosen);
      });
    });
  }
};

// Returns the map from a variable of the cube to an axis; an axis between two finite limits has none.
inline RegionMap map_of(const quadrature::Axis& axis) {
  const quadrature::Range& range = axis.range;
  RegionMap out{.kind = region_everywhere, .limit = 0, .per_length = 1};
  if (range.finite()) {
    out.kind = region_as_it_is;
    out.per_length = 1 / (range.upper - range.lower);
  } else if (std::isfinite(range.lower) || std::isfinite(range.upper)) {
    out.kind = std::isfinite(range.lower) ? region_from : region_up_to;
    out.limit = std::isfinite(range.lower) ? range.lower : range.upper;
  }
  return out;
}

inline void lay_out(RegionFrame& f, long long capacity, Pieces& pieces) {
  const auto c = static_cast<std::size_t>(capacity), d = static_cast<std::size_t>(f.d);
  const auto chunks = static_cast<std::size_t>(std::min(max_chunks, (capacity + 31) / 32));
  f.capacity = capacity;
  pieces.take(f.state, 1);
  pieces.take(f.histogram, region_bins);
  pieces.take(f.partials, 5 * chunks);
  pieces.take(f.counts, chunks);
  pieces.take(f.field, (2 * d + 4) * c);
  pieces.take(f.axis, c);
  pieces.take(f.list, c);
}

inline std::size_t region_bytes(int d, long long capacity) {
  RegionFrame f{};
  f.d = d;
  return bytes_of([&](Pieces& pieces) { lay_out(f, capacity, pieces); });
}

// Returns the initial capacity in regions, limited by the cap on evaluations; a run grows it on demand.
inline long long first_capacity(const quadrature::Limits& limits, int d, int place) {
  constexpr long long least = 128;
  const long long needed = least + limits.evaluations / (2 * region_points(d));
  return std::max(least, std::min<long long>(place, needed));
}

// Estimate: void(const RegionFrame&, std::int64_t threads), enqueues the kernel that estimates regions.
template <class Estimate>
class RegionRun {
 public:
  // `place`: the initial capacity in regions.
  RegionRun(quadrature::UnitCube& cube, const quadrature::Tolerance& tolerance, int place, Run& run,
            const Estimate& estimate)
      : cube_(cube), place_(place), run_(run), backend_(backend_of(*run.device)), estimate_(estimate) {
    const int d = cube.dimensions();
    if (d < 2 || d > 12) throw Error("Genz and Malik's rule takes 2 to 12 variables");
    frame_.d = d;
    frame_.points = region_points(d);
    frame_.most_evaluations = cube.limits().evaluations;
    frame_.relative = tolerance.relative;
    frame_.absolute = tolerance.absolute;
    for (int k = 0; k < d; ++k) frame_.map[k] = map_of(cube.axes()[static_cast<std::size_t>(k)]);
  }
  quadrature::Answer run();

 private:
  void place(void* memory, long long capacity);
  void start();
  bool grow();
  int rounds() const;
  bool takes_too_long() const;
  void round(long long regions);
  quadrature::Answer report() const;

  quadrature::UnitCube& cube_;
  int place_;
  Run& run_;
  Backend& backend_;
  const Estimate& estimate_;
  RegionFrame frame_{};
  RegionState state_{};
  double pace_ = 0;           // seconds per evaluation so far
  long long last_round_ = 0;  // evaluations of the last rounds
  Array own_;                 // memory beyond the run's workspace
};

template <class Estimate>
void RegionRun<Estimate>::place(void* memory, long long capacity) {
  Pieces pieces(memory);
  lay_out(frame_, capacity, pieces);
  backend_.fill(run_, frame_.histogram, 0, region_bins * sizeof(unsigned));
}

// Starts with halves of up to six axes, because the estimate of one region alone is too easily wrong.
template <class Estimate>
void RegionRun<Estimate>::start() {
  const int d = frame_.d, cut = std::min(d, 6), count = 1 << cut;
  const long long capacity = first_capacity(cube_.limits(), d, place_);
  const std::size_t bytes = region_bytes(d, capacity);
  const bool fits = bytes <= run_.workspace_bytes;
  if (!fits) own_ = device_bytes(run_, bytes);
  place(fits ? run_.workspace : own_.view().data, capacity);
  for (int axis = 0; axis < d; ++axis) {
    const quadrature::Axis& given = cube_.axes()[static_cast<std::size_t>(axis)];
    const bool plain = given.linear();
    const double lower = plain ? given.range.lower : 0, upper = plain ? given.range.upper : 1;
    const double middle = lower + 0.5 * (upper - lower);
    std::vector<double> centre, half;
    for (int k = 0; k < count; ++k) {
      const bool is_upper = (k >> axis & 1) != 0;
      const double from = axis < cut && is_upper ? middle : lower,
                   to = axis < cut && !is_upper ? middle : upper;
      half.push_back((to - from) / 2);
      centre.push_back(from + (to - from) / 2);
    }
    const std::size_t line = centre.size() * sizeof(double);
    backend_.copy(run_, frame_.field + axis * capacity, centre.data(), line);
    backend_.copy(run_, frame_.field + (d + axis) * capacity, half.data(), line);
  }
  state_ = {};
  state_.regions = count;
  state_.fresh = 1;
  state_.status = region_running;
  state_.cap = region_running;
  backend_.copy(run_, frame_.state, &state_, sizeof state_);
}

// Makes room for eight times as many regions. Returns false if the device has too little free memory.
template <class Estimate>
bool RegionRun<Estimate>::grow() {
  const long long wanted = 8 * frame_.capacity;
  const std::size_t bytes = region_bytes(frame_.d, wanted);
  if (static_cast<double>(bytes) > 0.9 * static_cast<double>(backend_.free_memory(*run_.device)))
    return false;
  const RegionFrame old = frame_;
  Array larger = device_bytes(run_, bytes);
  place(larger.view().data, wanted);
  const auto regions = static_cast<std::size_t>(state_.regions);
  for (int k = 0; k < 2 * frame_.d + 4; ++k)
    backend_.copy(run_, frame_.field + k * wanted, old.field + k * old.capacity, regions * sizeof(double));
  backend_.copy(run_, frame_.axis, old.axis, regions * sizeof(int));
  backend_.synchronize(run_);
  own_ = std::move(larger);
  return true;
}

// Returns the number of rounds to launch before the state is read, few enough to take little time together.
template <class Estimate>
int RegionRun<Estimate>::rounds() const {
  constexpr double share = 0.1;
  const double at_once = run_.device->where == Where::cuda ? 1e9 : 1e5;  // evaluations
  const double little = pace_ > 0 ? std::fmin(at_once, share * cube_.seconds_left() / pace_) : at_once;
  double next = 2.0 * static_cast<double>(state_.regions) * frame_.points;
  int out = 1;
  while (out < 8 && next < little) {
    ++out;
    next *= 2;
  }
  return out;
}

// A launched round cannot be stopped. It halves at most all regions, and seldom far more than the last
// rounds.
template <class Estimate>
bool RegionRun<Estimate>::takes_too_long() const {
  constexpr double more = 4;
  const double all = 2.0 * static_cast<double>(state_.regions) * frame_.points;
  const double next = last_round_ > 0 ? std::fmin(all, more * static_cast<double>(last_round_)) : all;
  return pace_ * next > cube_.seconds_left();
}

template <class Estimate>
void RegionRun<Estimate>::round(long long regions) {
  constexpr long long warps = steering_threads / 32;
  const long long blocks = (chunks_of(regions) + warps - 1) / warps,
                  most = 4LL * run_.device->multiprocessors;
  const Launch steering{.grid = {std::clamp(blocks, 2LL, std::max(2LL, most))}, .block = {steering_threads}};
  launch_kernel<AddUpRegions>(steering, frame_, run_);
  launch_kernel<WeighRegions>(steering, frame_, run_);
  launch_kernel<CountRegions>(steering, frame_, run_);
  launch_kernel<ListRegions>(steering, frame_, run_);
  estimate_(frame_, 2 * regions);
}

template <class Estimate>
quadrature::Answer RegionRun<Estimate>::run() {
  const auto first = static_cast<std::int64_t>(frame_.points) << std::min(frame_.d, 6);
  if (!cube_.allows(first)) {
    quadrature::Answer out = report();
    out.reason = cube_.cap();
    return out;
  }
  start();
  frame_.may_grow = 1;
  double left = cube_.seconds_left();
  estimate_(frame_, state_.regions);
  pace_ = (left - cube_.seconds_left()) / static_cast<double>(state_.regions * frame_.points);
  while (state_.status == region_running && cube_.seconds_left() > 0 && !takes_too_long()) {
    long long regions = state_.regions;
    const long long before = state_.evaluations;
    left = cube_.seconds_left();
    for (int k = rounds(); k > 0; --k, regions = std::min(2 * regions, frame_.capacity)) round(regions);
    backend_.copy(run_, &state_, frame_.state, sizeof state_);
    last_round_ = state_.evaluations - before;
    if (last_round_ > 0) pace_ = (left - cube_.seconds_left()) / static_cast<double>(last_round_);
    if (state_.status != region_full || frame_.may_grow == 0) continue;
    if (!grow()) frame_.may_grow = 0;
    state_.status = region_running;
    backend_.copy(run_, frame_.state, &state_, sizeof state_);
  }
  cube_.count(state_.evaluations);
  return report();
}

template <class Estimate>
quadrature::Answer RegionRun<Estimate>::report() const {
  quadrature::Answer out;
  out.rule = "genz-malik";
  out.evaluations = cube_.evaluations();
  if (state_.rounds == 0) return out;
  out.value = state_.value;
  out.truncation = state_.error;
  out.magnitude = state_.magnitude;
  out.rounding = 8 * quadrature::unit * state_.weighed;
  using quadrature::Reason;
  constexpr Reason reasons[] = {Reason::time, Reason::converged, Reason::roundoff, Reason::evaluations,
                                Reason::memory};  // by RegionStatus; one that still runs is out of time
  out.reason = reasons[state_.status];
  if (state_.holes == 0) return out;
  cube_.look_for_holes();  // only the CPU can locate them
  cube_.judge(out);
  // The kernels counted holes as 0, even where f has values around them.
  if (out.converged()) out.reason = quadrature::Reason::doubtful;
  return out;
}

// Make: returns RegionRun's Estimate for the options and the tuning.
template <class Make>
void integrate_by_regions(const Arguments& arguments, const Tuning& tuning, Run& run, const Make& make) {
  RuleOptions options = rule_options_of(arguments);
  take_over(options, run);
  const auto estimate = make(options, tuning, run);
  const quadrature::ByRegions by_regions{
      [&](quadrature::UnitCube& cube, const quadrature::Tolerance& tolerance) {
        return RegionRun(cube, tolerance, tuning["place"], run, estimate).run();
      },
      run.device->where == Where::cuda ? " on the GPU" : " on the executor"};
  give_on_device(answer_to(options, host_threads(), by_regions), options, arguments, run);
}

inline Reason not_by_regions(const Arguments& arguments) {
  if (has_samples(arguments)) return "samples are for the processors";
  if (!asks_for_rule(arguments)) return "a trapezoid sum is asked for";
  const std::string& rule = arguments.text("rule");
  if (rule != "auto" && rule != "genz_malik") return "it knows the rule genz_malik alone";
  const int d = rule_options_of(arguments).box.dimensions();
  if (d < 2 || d > quadrature::max_cubature_dimensions)
    return "Genz and Malik's rule takes 2 to 12 variables";
  return std::nullopt;
}

// `place`: the default of the initial capacity in regions.
template <class Make>
Choice choice_by_regions(const Make& make, int place, std::vector<Range> ranges = {}) {
  Choice out;
  out.ranges = std::move(ranges);
  // The initial capacity in regions; growing it costs a copy.
  out.ranges.push_back({.name = "place", .first = 128, .last = 1 << 24, .value = place});
  out.prepare[Element::f64] =
      without_plan([make](const Arguments& a, const Tuning& tuning,
                          Run& run) { integrate_by_regions(a, tuning, run, make); },
                   [](const Arguments& a, const Tuning& tuning) {
                     const RuleOptions options = rule_options_of(a);
                     const int d = options.box.dimensions();
                     return region_bytes(d, first_capacity(options.limits, d, tuning["place"]));
                   });
  out.refuses = [](const Arguments& a, const Tuning&, const Device&) { return not_by_regions(a); };
  out.footprint = [](const Arguments& a, const Tuning&) -> std::optional<Footprint> {
    constexpr int threads = 128;  // per block of the kernels that estimate; the first regions need one block
    const std::int64_t regions = std::int64_t{1} << std::min(rule_options_of(a).box.dimensions(), 6);
    return Footprint{(regions + threads - 1) / threads, threads, 0};
  };
  return out;
}

}  // namespace TESSERA_UNIT
}  // namespace tessera::integration
