// SPDX-License-Identifier: Apache-2.0
// VEGAS in kernels: the same cubes, points and sums as on the processors, down to the bit. Each kernel's
// thread has a cube, a group of cubes or a task to itself, and what several threads add to are whole numbers:
// no thread waits for another.
#pragma once
#include "ops/integrate/kernels/program_evaluation.hpp"
#include "ops/integrate/quadrature/box.hpp"
#include "ops/integrate/quadrature/vegas_point.hpp"
#include "tessera/kernel.hpp"

namespace tessera::integration {
inline namespace TESSERA_UNIT {

using namespace quadrature;  // NOLINT: the arithmetic that all devices share

// What an iteration leaves for the host.
struct VegasLeft {
  VegasTotals totals;
  u64 points, holes;
};

struct VegasFrame {
  VegasPlan plan, before;
  VegasTasks tasks;
  double requested;                // points
  double *wanted, *wanted_before;  // of each cube; the latter by the partition `before`, null: nothing yet
  u32 *points, *first, *group_first, *super_first;
  u32* cube_of_task;
  VegasSums* sums;  // of each task
  VegasTotals *of_cubes, *of_groups, *of_supers;
  VegasLeft* left;
  u64* weights;  // behind `left`
  const double* edges;
  const VegasAxis* axes;
  int sampled;  // what is joined: what the points showed, or only what cubes want
};

SIMT u32 vegas_first_task(const VegasFrame& f, u32 cube) {
  const u32 group = cube / vegas_group;
  return f.super_first[group / vegas_super] + f.group_first[group] + f.first[cube];
}

// `count` things, a thread for each.
template <class Kernel>
struct ForEach {
  static constexpr int threads = 128;
  struct Shared {};

  SIMT void operator()(Thread thread, Shared&, const VegasFrame& f) const {
    const std::int64_t me = std::int64_t{thread.block().x} * thread.size().x + thread.index().x;
    if (me < Kernel::count(f)) Kernel::run(thread, f, static_cast<u32>(me));
  }
};

// A new partition takes over what the old one's cubes wanted.
struct Inherit {
  SIMT static u32 count(const VegasFrame& f) { return f.tasks.cubes; }
  SIMT static void run(const Thread&, const VegasFrame& f, u32 cube) {
    f.wanted[cube] = f.wanted_before == nullptr ? 1.0 : f.wanted_before[vegas_parent(f.before, f.plan, cube)];
  }
};

struct JoinCubes {
  SIMT static u32 count(const VegasFrame& f) { return f.tasks.groups; }
  SIMT static void run(const Thread&, const VegasFrame& f, u32 group) {
    VegasTotals sum{};
    const u32 last = vegas_least((group + 1) * vegas_group, f.tasks.cubes);
    for (u32 cube = group * vegas_group; cube < last; ++cube)
      vegas_join(sum, f.sampled != 0 ? f.of_cubes[cube] : VegasTotals{0, 0, 0, 0, f.wanted[cube], 0, 0});
    f.of_groups[group] = sum;
  }
};

struct JoinGroups {
  SIMT static u32 count(const VegasFrame& f) { return f.tasks.supers; }
  SIMT static void run(const Thread&, const VegasFrame& f, u32 super) {
    VegasTotals sum{};
    const u32 last = vegas_least((super + 1) * vegas_super, f.tasks.groups);
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

struct Deal {
  SIMT static u32 count(const VegasFrame& f) { return f.tasks.groups; }
  SIMT static void run(const Thread& thread, const VegasFrame& f, u32 group) {
    const VegasDeal deal = vegas_deal(f.left->totals.wanted, f.requested, f.tasks.cubes);
    const u32 last = vegas_least((group + 1) * vegas_group, f.tasks.cubes);
    u32 tasks = 0;
    std::uint64_t all = 0;
    for (u32 cube = group * vegas_group; cube < last; ++cube) {
      const u32 points = vegas_points(f.wanted[cube], deal);
      f.points[cube] = points;
      f.first[cube] = tasks;
      tasks += vegas_task_count(points);
      all += points;
    }
    f.group_first[group] = tasks;  // how many; where they begin is told by OffsetGroups
    (void)thread.atomic_add(reinterpret_cast<std::uint64_t*>(&f.left->points), all);
  }
};

// Numbers become the sums of those before them; their sum is given back. Several are on their way from
// memory at once.
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
        make_offsets(f.group_first + first, vegas_least(vegas_super, f.tasks.groups - first));
  }
};

struct OffsetSupers {
  SIMT static u32 count(const VegasFrame&) { return 1; }
  SIMT static void run(const Thread&, const VegasFrame& f, u32) {
    f.super_first[f.tasks.supers] = make_offsets(f.super_first, f.tasks.supers);
  }
};

// Long cubes' tasks, a run of them by the thread of the first.
struct JoinRuns {
  SIMT static u32 count(const VegasFrame& f) { return f.super_first[f.tasks.supers]; }
  SIMT static void run(const Thread&, const VegasFrame& f, u32 task) {
    const u32 cube = f.cube_of_task[task], place = task - vegas_first_task(f, cube);
    const u32 tasks = vegas_task_count(f.points[cube]);
    if (place % vegas_run != 0 || tasks <= vegas_run) return;
    VegasSums sum{};
    for (u32 i = 0; i < vegas_least(vegas_run, tasks - place); ++i) vegas_join(sum, f.sums[task + i]);
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

// The points, by the interpreter.
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
    f.sums[me] = vegas_task<most_dimensions>(
        f.plan, f.edges, f.axes, task.cube, f.points[task.cube], task.place * vegas_task_points,
        f.plan.dimensions, [&](const double* x) { return evaluate(f.integrand, x); },
        [&](u32 bin, u64 share) {
          (void)thread.atomic_add(reinterpret_cast<std::uint64_t*>(f.weights) + bin, std::uint64_t{share});
        },
        [&] { (void)thread.atomic_add(reinterpret_cast<std::uint64_t*>(&f.left->holes), std::uint64_t{1}); });
  }
};

}  // namespace TESSERA_UNIT
}  // namespace tessera::integration
