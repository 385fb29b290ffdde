// SPDX-License-Identifier: Apache-2.0
// VEGAS in kernels, with cubes, points and sums bitwise identical to those of the CPU. Each thread has a
// cube, a group of cubes or a task to itself, and totals that several threads add to are integers, so that no
// thread waits for another. The host allocates memory, launches, and tests the arguments.
#pragma once
#include <cstddef>
#include <cstring>
#include <vector>
#include "ops/integrate/kernels/device_run.hpp"
#include "ops/integrate/kernels/program_evaluation.hpp"
#include "ops/integrate/quadrature/scattered/box.hpp"
#include "ops/integrate/quadrature/scattered/vegas_point.hpp"
#if !defined(__CUDACC__)
#include "tessera/simt/executor/executor.hpp"
#endif

namespace tessera::integration {
inline namespace TESSERA_UNIT {

using namespace quadrature;  // NOLINT: the arithmetic that all devices share

// The results of an iteration for the host.
struct VegasIterationResults {
  VegasTotals totals;
  u64 points, holes;
};

struct VegasFrame {
  VegasPlan plan, before;
  VegasTasks tasks;
  double requested;                // points
  double *wanted, *wanted_before;  // per cube; wanted_before: in the partition `before`, null: none yet
  u32 *points, *first, *group_first, *super_first;
  u32* cube_of_task;
  VegasSums* sums;  // per task
  VegasTotals *of_cubes, *of_groups, *of_supers;
  VegasIterationResults* left;
  u64* weights;  // follow `left` in memory
  const double* edges;
  const VegasAxis* axes;
  int sampled;  // 1: join the cubes' totals; 0: only their `wanted`
};

SIMT u32 vegas_first_task(const VegasFrame& f, u32 cube) {
  const u32 group = cube / vegas_group;
  return f.super_first[group / vegas_super] + f.group_first[group] + f.first[cube];
}

// Runs Kernel::count items, one thread per item.
template <class Kernel>
struct ForEach {
  static constexpr int threads = 128;
  struct Shared {};

  SIMT void operator()(Thread thread, Shared&, const VegasFrame& f) const {
    const std::int64_t me = std::int64_t{thread.block().x} * thread.size().x + thread.index().x;
    if (me < Kernel::count(f)) Kernel::run(thread, f, static_cast<u32>(me));
  }
};

// Initializes `wanted` of a new partition from the cubes of the old one.
struct InheritWeights {
  SIMT static u32 count(const VegasFrame& f) { return f.tasks.cubes; }
  SIMT static void run(const Thread&, const VegasFrame& f, u32 cube) {
    f.wanted[cube] = f.wanted_before == nullptr ? 1.0 : f.wanted_before[vegas_parent(f.before, f.plan, cube)];
  }
};

struct JoinCubes {
  SIMT static u32 count(const VegasFrame& f) { return f.tasks.groups; }
  SIMT static void run(const Thread&, const VegasFrame& f, u32 group) {
    VegasTotals sum{};
    const u32 last = vegas_min((group + 1) * vegas_group, f.tasks.cubes);
    for (u32 cube = group * vegas_group; cube < last; ++cube)
      vegas_join(sum, f.sampled != 0 ? f.of_cubes[cube] : VegasTotals{0, 0, 0, 0, f.wanted[cube], 0, 0});
    f.of_groups[group] = sum;
  }
};

struct JoinGroups {
  SIMT static u32 count(const VegasFrame& f) { return f.tasks.supers; }
  SIMT static void run(const Thread&, const VegasFrame& f, u32 super) {
    VegasTotals sum{};
    const u32 last = vegas_min((super + 1) * vegas_super, f.tasks.groups);
    for (u32 group = super * vegas_super; group < last; ++group) vegas_join(sum, f.of_groups[group]);
    f.of_supers[super] = sum;
  }
};

struct JoinAll {
  SIMT static u32 count(const VegasFrame&) { return 1; }
  SIMT static void run(const Thread&, const VegasFrame& f, u32) {
    VegasTotals sum{};
    for (u32 super = 0; super < f.tasks.supers; ++super) vegas_join(sum, f.of_supers[super]);
    f.left->totals = sum;
  }
};

struct AllocatePoints {
  SIMT static u32 count(const VegasFrame& f) { return f.tasks.groups; }
  SIMT static void run(const Thread& thread, const VegasFrame& f, u32 group) {
    const VegasAllocation deal = vegas_allocation(f.left->totals.wanted, f.requested, f.tasks.cubes);
    const u32 last = vegas_min((group + 1) * vegas_group, f.tasks.cubes);
    u32 tasks = 0;
    std::uint64_t all = 0;
    for (u32 cube = group * vegas_group; cube < last; ++cube) {
      const u32 points = vegas_points(f.wanted[cube], deal);
      f.points[cube] = points;
      f.first[cube] = tasks;
      tasks += vegas_task_count(points);
      all += points;
    }
    f.group_first[group] = tasks;  // a count, which OffsetGroups turns into an offset
    (void)thread.atomic_add(reinterpret_cast<std::uint64_t*>(&f.left->points), all);
  }
};

// Replaces the numbers by their exclusive prefix sum and returns their sum. Several loads are in flight at
// once.
SIMT u32 make_offsets(u32* numbers, u32 count) {
  constexpr u32 together = 16;
  u32 before = 0;
  for (u32 from = 0; from < count; from += together) {
    u32 read[together];
    SIMT_UNROLL
    for (u32 i = 0; i < together; ++i) read[i] = from + i < count ? numbers[from + i] : 0;
    SIMT_UNROLL
    for (u32 i = 0; i < together; ++i) {
      if (from + i < count) numbers[from + i] = before;
      before += read[i];
    }
  }
  return before;
}

struct OffsetGroups {
  SIMT static u32 count(const VegasFrame& f) { return f.tasks.supers; }
  SIMT static void run(const Thread&, const VegasFrame& f, u32 super) {
    const u32 first = super * vegas_super;
    f.super_first[super] =
        make_offsets(f.group_first + first, vegas_min(vegas_super, f.tasks.groups - first));
  }
};

struct OffsetSupers {
  SIMT static u32 count(const VegasFrame&) { return 1; }
  SIMT static void run(const Thread&, const VegasFrame& f, u32) {
    f.super_first[f.tasks.supers] = make_offsets(f.super_first, f.tasks.supers);
  }
};

// Joins the tasks of cubes with many of them; the thread of a run's first task joins the run.
struct JoinRuns {
  SIMT static u32 count(const VegasFrame& f) { return f.super_first[f.tasks.supers]; }
  SIMT static void run(const Thread&, const VegasFrame& f, u32 task) {
    const u32 cube = f.cube_of_task[task], place = task - vegas_first_task(f, cube);
    const u32 tasks = vegas_task_count(f.points[cube]);
    if (place % vegas_run != 0 || tasks <= vegas_run) return;
    VegasSums sum{};
    for (u32 i = 0; i < vegas_min(vegas_run, tasks - place); ++i) vegas_join(sum, f.sums[task + i]);
    f.sums[task] = sum;
  }
};

struct Summarize {
  SIMT static u32 count(const VegasFrame& f) { return f.tasks.cubes; }
  SIMT static void run(const Thread&, const VegasFrame& f, u32 cube) {
    const u32 points = f.points[cube], tasks = vegas_task_count(points), first = vegas_first_task(f, cube);
    const u32 step = tasks <= vegas_run ? 1 : vegas_run;
    VegasSums sum{};
    for (u32 task = 0; task < tasks; task += step) vegas_join(sum, f.sums[first + task]);
    const VegasTotals out = vegas_summary(sum, points, 1.0 / double(f.tasks.cubes));
    f.of_cubes[cube] = out;
    f.wanted[cube] = out.wanted;
  }
};

// The frame of the interpreting kernel.
struct Interpreted : VegasFrame {
  formula::Program<double> integrand;
};

template <class T>
struct SampleTasks {
  static constexpr int threads = 128;
  struct Shared {};

  SIMT void operator()(Thread thread, Shared&, const Interpreted& f) const {
    const std::int64_t me = std::int64_t{thread.block().x} * threads + thread.index().x;
    if (me >= f.super_first[f.tasks.supers]) return;
    const VegasTask task = vegas_find(f.tasks, static_cast<u32>(me));
    f.cube_of_task[me] = task.cube;
    f.sums[me] = vegas_task<max_dimensions>(
        f.plan, f.edges, f.axes, task.cube, f.points[task.cube], task.place * vegas_task_points,
        f.plan.dimensions, [&](const double* x) { return evaluate(f.integrand, x); },
        [&](u32 bin, u64 share) {
          (void)thread.atomic_add(reinterpret_cast<std::uint64_t*>(f.weights) + bin, std::uint64_t{share});
        },
        [&] { (void)thread.atomic_add(reinterpret_cast<std::uint64_t*>(&f.left->holes), std::uint64_t{1}); });
  }
};

// Memory of the run's device: a part of its workspace, or an allocation of its own if that is too small.
class DeviceArray {
 public:
  explicit DeviceArray(Run& run) : run_(run) {}

  void lend(void* data, std::size_t bytes) {
    data_ = data;
    bytes_ = bytes;
  }
  // Returns at least that much memory; growing loses the contents.
  void* at_least(std::size_t bytes) {
    if (bytes <= bytes_) return data_;
    own_ = {};
    own_ = device_bytes(run_, 2 * bytes);
    lend(own_.view().data, 2 * bytes);
    return data_;
  }
  template <class LayOut>
  void place(const LayOut& lay_out) {
    Pieces pieces(at_least(bytes_of(lay_out)));
    lay_out(pieces);
  }

 private:
  Run& run_;
  Array own_;
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
};

// The layout of a frame's parts.
inline std::size_t left_bytes(int dimensions) {
  return sizeof(VegasIterationResults) + static_cast<std::size_t>(dimensions) * vegas_bins * sizeof(u64);
}

inline void lay_out_fixed(VegasFrame& f, int dimensions, Pieces& pieces) {
  char* left = nullptr;
  double* edges = nullptr;
  VegasAxis* axes = nullptr;
  pieces.take(left, left_bytes(dimensions));
  pieces.take(edges, static_cast<std::size_t>(dimensions) * (vegas_bins + 1));
  pieces.take(axes, static_cast<std::size_t>(dimensions));
  if (left == nullptr) return;
  f.left = reinterpret_cast<VegasIterationResults*>(left);
  f.weights = reinterpret_cast<u64*>(f.left + 1);
  f.edges = edges;
  f.axes = axes;
}

inline void lay_out_cubes(VegasFrame& f, Pieces& pieces) {
  VegasTasks& t = f.tasks;
  t.groups = (t.cubes + vegas_group - 1) / vegas_group;
  t.supers = (t.groups + vegas_super - 1) / vegas_super;
  pieces.take(f.points, t.cubes);
  pieces.take(f.first, t.cubes);
  pieces.take(f.group_first, t.groups);
  pieces.take(f.super_first, t.supers + 1);
  pieces.take(f.of_cubes, t.cubes);
  pieces.take(f.of_groups, t.groups);
  pieces.take(f.of_supers, t.supers);
  t.points = f.points;
  t.first = f.first;
  t.group_first = f.group_first;
  t.super_first = f.super_first;
}

// Returns an upper bound: each cube's last task may have few points.
inline std::int64_t max_tasks(std::int64_t points, u32 cubes) {
  return std::max<std::int64_t>(points, 2 * std::int64_t{cubes}) / vegas_task_points + cubes + 1;
}

inline void lay_out_tasks(VegasFrame& f, std::int64_t most, Pieces& pieces) {
  pieces.take(f.cube_of_task, static_cast<std::size_t>(most));
  pieces.take(f.sums, static_cast<std::size_t>(most));
}

// Returns an upper bound on the memory for iterations of so many points.
struct VegasMemory {
  std::size_t fixed, cubes, tasks, wanted;

  VegasMemory(int dimensions, std::int64_t points) {
    VegasFrame f{};
    f.tasks.cubes = static_cast<u32>(std::clamp<std::int64_t>(points / 4, 1, quadrature::max_vegas_cubes));
    fixed = bytes_of([&](Pieces& p) { lay_out_fixed(f, dimensions, p); });
    cubes = bytes_of([&](Pieces& p) { lay_out_cubes(f, p); });
    tasks = bytes_of([&](Pieces& p) { lay_out_tasks(f, max_tasks(points, f.tasks.cubes), p); });
    wanted = bytes_of([&](Pieces& p) { p.take(f.wanted, f.tasks.cubes); });
  }
  std::size_t bytes() const { return fixed + cubes + tasks + 2 * wanted; }
  // Returns the memory of a run with these caps; larger iterations allocate their own.
  static VegasMemory of(int dimensions, const quadrature::Limits& limits) {
    const std::int64_t usual = kernels_run_on == Where::cuda ? quadrature::max_vegas_points : 1 << 18;
    return {dimensions, std::clamp<std::int64_t>(limits.evaluations, 16, usual)};
  }
};

inline VegasAxis vegas_axis(const quadrature::Axis& axis) {
  const quadrature::Range& range = axis.range;
  const int below = std::isfinite(range.lower) ? 0 : 1, above = std::isfinite(range.upper) ? 0 : 1;
  const int kind = below != 0 ? (above != 0 ? 3 : 2) : above;
  return {range.lower, range.upper, kind};
}

// Sample: void(const VegasFrame&, std::int64_t tasks, Run&), enqueues the sampling kernel; `tasks` is an
// upper bound.
template <class Sample>
class VegasOnDevice : public quadrature::VegasEngine {
 public:
  VegasOnDevice(const quadrature::UnitCube& cube, Run& run, const Sample& sample)
      : cube_(cube),
        run_(run),
        backend_(backend_of(*run.device)),
        sample_(sample),
        dimensions_(cube.dimensions()),
        fixed_(run),
        of_cubes_(run),
        of_tasks_(run),
        wanted_{DeviceArray(run), DeviceArray(run)} {
    borrow(VegasMemory::of(dimensions_, cube.limits()));
    fixed_.place([&](Pieces& p) { lay_out_fixed(frame_, dimensions_, p); });
    std::vector<VegasAxis> axes;
    for (int axis = 0; axis < dimensions_; ++axis)
      axes.push_back(vegas_axis(cube.axes()[static_cast<std::size_t>(axis)]));
    backend_.copy(run_, const_cast<VegasAxis*>(frame_.axes), axes.data(), axes.size() * sizeof(VegasAxis));
  }

  quadrature::IterationStats iterate(const quadrature::VegasIteration& requested,
                                     const std::vector<double>& edges) override;

 private:
  quadrature::IterationStats iterated(const quadrature::VegasIteration& requested,
                                      const std::vector<double>& edges);
  std::size_t bins() const { return static_cast<std::size_t>(dimensions_) * vegas_bins; }
  void borrow(const VegasMemory& memory);
  std::int64_t lay_out(const quadrature::VegasIteration& requested);
  void join(bool sampled);
  quadrature::IterationStats report() const;

  template <class Kernel>
  void launch(std::int64_t count) {
    constexpr int threads = ForEach<Kernel>::threads;
    launch_kernel<ForEach<Kernel>>({.grid = {(count + threads - 1) / threads}, .block = {threads}}, frame_,
                                   run_);
  }

  const quadrature::UnitCube& cube_;
  Run& run_;
  Backend& backend_;
  const Sample& sample_;
  int dimensions_;
  VegasFrame frame_{};
  DeviceArray fixed_, of_cubes_, of_tasks_, wanted_[2];
  std::vector<double> edges_;  // those on the device
  int turn_ = 0;               // index of the array that `wanted` uses
};

template <class Sample>
void VegasOnDevice<Sample>::borrow(const VegasMemory& memory) {
  if (run_.workspace_bytes < memory.bytes()) return;
  char* at = static_cast<char*>(run_.workspace);
  const auto lend = [&at](DeviceArray& to, std::size_t bytes) {
    to.lend(at, bytes);
    at += bytes;
  };
  lend(fixed_, memory.fixed);
  lend(of_cubes_, memory.cubes);
  lend(of_tasks_, memory.tasks);
  lend(wanted_[0], memory.wanted);
  lend(wanted_[1], memory.wanted);
}

// Lays out the frame, sets `wanted` of the cubes and distributes the points. Returns an upper bound on the
// number of tasks.
template <class Sample>
std::int64_t VegasOnDevice<Sample>::lay_out(const quadrature::VegasIteration& requested) {
  const bool begun = frame_.tasks.cubes != 0;
  frame_.before = frame_.plan;
  frame_.plan = quadrature::plan_of(dimensions_, requested);
  frame_.requested = static_cast<double>(requested.points);
  VegasTasks& t = frame_.tasks;
  t.cubes = quadrature::cubes_of(frame_.plan);
  of_cubes_.place([&](Pieces& p) { lay_out_cubes(frame_, p); });
  const std::int64_t most = max_tasks(requested.points, t.cubes);
  of_tasks_.place([&](Pieces& p) { lay_out_tasks(frame_, most, p); });
  const bool same =
      begun && frame_.before.strata == frame_.plan.strata && frame_.before.finer == frame_.plan.finer;
  if (!same) {
    frame_.wanted_before = begun ? frame_.wanted : nullptr;
    turn_ = 1 - turn_;
    frame_.wanted = static_cast<double*>(wanted_[turn_].at_least(t.cubes * sizeof(double)));
    launch<InheritWeights>(t.cubes);
    join(false);
  }
  launch<AllocatePoints>(t.groups);
  launch<OffsetGroups>(t.supers);
  launch<OffsetSupers>(1);
  return most;
}

template <class Sample>
void VegasOnDevice<Sample>::join(bool sampled) {
  frame_.sampled = sampled ? 1 : 0;
  launch<JoinCubes>(frame_.tasks.groups);
  launch<JoinGroups>(frame_.tasks.supers);
  launch<JoinAll>(1);
}

// Runs an iteration. The executor stops a launch at the time limit; a GPU's launch cannot be stopped.
template <class Sample>
quadrature::IterationStats VegasOnDevice<Sample>::iterate(const quadrature::VegasIteration& requested,
                                                          const std::vector<double>& edges) {
#if defined(__CUDACC__) || defined(TESSERA_TRACED)
  return iterated(requested, edges);
#else
  constexpr double least = 1e-3;
  const simt::TimeLimit allowed(std::fmax(least, cube_.seconds_left()));
  try {
    return iterated(requested, edges);
  } catch (const simt::OutOfTime&) {
    quadrature::IterationStats out;
    out.finished = false;
    return out;
  }
#endif
}

template <class Sample>
quadrature::IterationStats VegasOnDevice<Sample>::iterated(const quadrature::VegasIteration& requested,
                                                           const std::vector<double>& edges) {
  // Keeps the totals, because the next points are distributed by their `wanted`.
  backend_.fill(run_, &frame_.left->points, 0,
                left_bytes(dimensions_) - offsetof(VegasIterationResults, points));
  if (edges != edges_)
    backend_.copy(run_, const_cast<double*>(frame_.edges), edges.data(), edges.size() * sizeof(double));
  edges_ = edges;
  const std::int64_t most = lay_out(requested);
  sample_(frame_, most, run_);
  launch<JoinRuns>(most);
  launch<Summarize>(frame_.tasks.cubes);
  join(true);
  return report();
}

template <class Sample>
quadrature::IterationStats VegasOnDevice<Sample>::report() const {
  const bool learns = frame_.plan.weight != 0;
  std::vector<u64> words((learns ? left_bytes(dimensions_) : sizeof(VegasIterationResults)) / sizeof(u64));
  backend_.copy(run_, words.data(), frame_.left, words.size() * sizeof(u64));
  VegasIterationResults left;
  std::memcpy(&left, words.data(), sizeof left);
  quadrature::IterationStats out = stats_of(left.totals);
  out.points = static_cast<std::int64_t>(left.points);
  out.holes = static_cast<std::int64_t>(left.holes);
  cube_.count(out.points);
  if (learns) out.weights.assign(words.begin() + sizeof left / sizeof(u64), words.end());
  return out;
}

// Make: returns VegasOnDevice's Sample for the options.
template <class Make>
void integrate_by_vegas(const Arguments& arguments, Run& run, const Make& make) {
  RuleOptions options = rule_options_of(arguments);
  take_over(options, run);
  const auto sample = make(options, run);
  const auto engine = [&](const quadrature::UnitCube& cube) {
    return std::make_unique<VegasOnDevice<std::decay_t<decltype(sample)>>>(cube, run, sample);
  };
  give_on_device(answer_to(options, host_threads(), {}, engine), options, arguments, run);
}

template <class Make>
Choice choice_by_vegas(const Make& make) {
  Choice out;
  out.prepare[Element::f64] =
      without_plan([make](const Arguments& a, const Tuning&, Run& run) { integrate_by_vegas(a, run, make); },
                   [](const Arguments& a, const Tuning&) {
                     const RuleOptions options = rule_options_of(a);
                     return VegasMemory::of(options.box.dimensions(), options.limits).bytes();
                   });
  out.footprint = [](const Arguments& a, const Tuning&) -> std::optional<Footprint> {
    // The footprint of the first iteration, which is a small part of most runs.
    const std::int64_t points =
        std::clamp<std::int64_t>(rule_options_of(a).limits.evaluations / 32, 16, 1 << 14);
    constexpr int threads = SampleTasks<double>::threads;
    const std::int64_t tasks = max_tasks(points, static_cast<u32>(points / 4));
    return Footprint{(tasks + threads - 1) / threads, threads, 0};
  };
  out.refuses = [](const Arguments& a, const Tuning&, const Device&) -> tessera::Reason {
    if (has_samples(a)) return "samples are for the processors";
    if (a.text("rule") != "vegas")
      return "it knows the rule vegas alone; others are the processors', and --strips asks for a sum";
    return std::nullopt;
  };
  return out;
}

}  // namespace TESSERA_UNIT
}  // namespace tessera::integration
