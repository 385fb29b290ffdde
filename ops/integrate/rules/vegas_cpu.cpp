// SPDX-License-Identifier: Apache-2.0
// VEGAS on the processors: many points of the integrand in one call, tasks shared among the threads.
#include <algorithm>
#include <atomic>
#include <thread>
#include "ops/integrate/rules/vegas_plan.hpp"
#include "tessera/core/parallel.hpp"

namespace tessera::quadrature {
namespace {

constexpr std::size_t chunk = 64;  // tasks that one thread does at a time

class Processors : public VegasEngine {
 public:
  Processors(const Cube& cube, int threads)
      : cube_(cube),
        threads_(threads > 0 ? threads
                             : static_cast<int>(std::max(1u, std::thread::hardware_concurrency()))) {}

  VegasSeen iterate(const VegasIteration& asked, const std::vector<double>& edges) override;

 private:
  void lay_out(const VegasIteration& asked);
  std::size_t sample(std::size_t first, std::size_t last, const std::vector<double>& edges,
                     std::uint64_t* weights);
  std::size_t place(std::size_t first, std::size_t last, const std::vector<double>& edges);
  VegasTotals conclude(bool sampled);
  void each(std::size_t parts, const std::function<void(std::size_t)>& work) const;

  const Cube& cube_;
  int threads_;
  VegasPlan plan_{};
  std::vector<double> wanted_;
  std::vector<u32> points_, first_task_, cube_of_task_;
  std::vector<VegasSums> sums_;
};

// One thread's points, kept for its next chunk.
struct Points {
  std::size_t count = 0;
  std::vector<u32> point, cube, bits, stratum;
  std::vector<int> bin;
  std::vector<double> u, slope, y;

  void resize(std::size_t points, std::size_t dimensions) {
    count = points;
    point.resize(points);
    cube.resize(points);
    bits.resize(4 * points);
    stratum.resize(dimensions * points);
    bin.resize(dimensions * points);
    u.resize(dimensions * points);
    slope.assign(points, 1);
    y.resize(points);
  }
};

Points& own_points() {
  thread_local Points points;
  return points;
}

// Four words for each point, for four axes.
void draw(Points& p, const VegasPlan& plan, u32 axes) {
  const std::size_t count = p.count;
  const u32 *const point = p.point.data(), *const cube = p.cube.data();
  u32 *const b0 = p.bits.data(), *const b1 = b0 + count, *const b2 = b1 + count, *const b3 = b2 + count;
  for (std::size_t i = 0; i < count; ++i) {
    const PhiloxState out = philox({point[i], cube[i], axes, plan.iteration, plan.seed_low, plan.seed_high});
    b0[i] = out.c0;
    b1[i] = out.c1;
    b2[i] = out.c2;
    b3[i] = out.c3;
  }
}

void stretch(Points& p, const VegasPlan& plan, int axis, const double* edges) {
  const std::size_t count = p.count, row = static_cast<std::size_t>(axis) * count;
  const u32 *const bits = &p.bits[static_cast<std::size_t>(axis % 4) * count], *const stratum =
                                                                                   &p.stratum[row];
  const double step = axis < plan.finer ? plan.narrow : plan.wide;
  double *const u = &p.u[row], *const slope = p.slope.data();
  int* const bin = &p.bin[row];
  for (std::size_t i = 0; i < count; ++i) {
    const double v = (static_cast<double>(stratum[i]) + vegas_uniform(bits[i])) * step;
    u[i] = vegas_stretch(edges, v, &slope[i], &bin[i]);
  }
}

void Processors::each(std::size_t parts, const std::function<void(std::size_t)>& work) const {
  std::atomic<std::size_t> next{0};
  parallel(static_cast<int>(std::min<std::size_t>(static_cast<std::size_t>(threads_), parts)), [&](int) {
    for (std::size_t k = next++; k < parts; k = next++) work(k);
  });
}

// Joined in groups, and these in groups again. `sampled`: new sums say what the cubes hold and want.
VegasTotals Processors::conclude(bool sampled) {
  constexpr std::size_t group = vegas_group, super = vegas_super * group;
  const std::size_t cubes = wanted_.size();
  const double part = 1.0 / static_cast<double>(cubes);
  const auto of_cube = [&](std::size_t h) {
    if (!sampled) return VegasTotals{0, 0, 0, 0, wanted_[h], 0, 0};
    VegasSums all{};
    const std::size_t end = first_task_[h] + vegas_task_count(points_[h]);
    for (std::size_t from = first_task_[h]; from < end; from += vegas_run) {
      VegasSums run{};
      for (std::size_t task = from; task < std::min<std::size_t>(end, from + vegas_run); ++task)
        vegas_join(run, sums_[task]);
      vegas_join(all, run);
    }
    const VegasTotals out = vegas_conclude(all, points_[h], part);
    wanted_[h] = out.wanted;
    return out;
  };
  std::vector<VegasTotals> supers((cubes + super - 1) / super, VegasTotals{});
  each(supers.size(), [&](std::size_t s) {
    for (std::size_t from = s * super; from < std::min(cubes, (s + 1) * super); from += group) {
      VegasTotals sum{};
      for (std::size_t h = from; h < std::min(cubes, from + group); ++h) vegas_join(sum, of_cube(h));
      vegas_join(supers[s], sum);
    }
  });
  VegasTotals out{};
  for (const VegasTotals& sum : supers) vegas_join(out, sum);
  return out;
}

void Processors::lay_out(const VegasIteration& asked) {
  const VegasPlan before = plan_;
  plan_ = plan_of(cube_.dimensions(), asked);
  const u32 cubes = cubes_of(plan_);
  if (wanted_.empty()) {
    wanted_.assign(cubes, 1);
  } else if (before.strata != plan_.strata || before.finer != plan_.finer) {
    std::vector<double> now(cubes);
    for (u32 h = 0; h < cubes; ++h) now[h] = wanted_[vegas_parent(before, plan_, h)];
    wanted_ = std::move(now);
  }
  const VegasDeal deal = vegas_deal(conclude(false).wanted, static_cast<double>(asked.points), cubes);
  points_.resize(cubes);
  first_task_.resize(cubes);
  cube_of_task_.clear();
  for (u32 h = 0; h < cubes; ++h) {
    points_[h] = vegas_points(wanted_[h], deal);
    first_task_[h] = static_cast<u32>(cube_of_task_.size());
    cube_of_task_.insert(cube_of_task_.end(), vegas_task_count(points_[h]), h);
  }
}

// The points of some tasks, on the unit cube; how many there are.
std::size_t Processors::place(std::size_t first, std::size_t last, const std::vector<double>& edges) {
  Points& p = own_points();
  std::size_t count = 0;
  const auto points_of = [&](std::size_t task, u32& from) {
    const u32 h = cube_of_task_[task];
    from = static_cast<u32>(task - first_task_[h]) * vegas_task_points;
    return vegas_least(vegas_task_points, points_[h] - from);
  };
  u32 from = 0, stratum[most_dimensions];
  for (std::size_t task = first; task < last; ++task) count += points_of(task, from);
  const int d = plan_.dimensions;
  p.resize(count, static_cast<std::size_t>(d));
  std::size_t at = 0;
  for (std::size_t task = first; task < last; ++task) {
    const u32 h = cube_of_task_[task], more = points_of(task, from);
    vegas_strata(plan_, h, d, stratum);
    for (u32 i = 0; i < more; ++i, ++at) {
      p.point[at] = from + i;
      p.cube[at] = h;
      for (int axis = 0; axis < d; ++axis)
        p.stratum[static_cast<std::size_t>(axis) * count + at] = stratum[axis];
    }
  }
  for (int axis = 0; axis < d; ++axis) {
    if (axis % 4 == 0) draw(p, plan_, static_cast<u32>(axis / 4));
    stretch(p, plan_, axis, &edges[static_cast<std::size_t>(axis) * (vegas_bins + 1)]);
  }
  return count;
}

// How many points it took.
std::size_t Processors::sample(std::size_t first, std::size_t last, const std::vector<double>& edges,
                               std::uint64_t* weights) {
  const std::size_t count = place(first, last, edges);
  Points& p = own_points();
  cube_.values(p.u, count, p.y);
  std::size_t at = 0;
  for (std::size_t task = first; task < last; ++task) {
    const u32 h = cube_of_task_[task];
    const u32 from = static_cast<u32>(task - first_task_[h]) * vegas_task_points;
    VegasSums sums{};
    for (u32 left = vegas_least(vegas_task_points, points_[h] - from); left > 0; --left, ++at) {
      const double term = p.y[at] * p.slope[at] * plan_.scale;
      vegas_add(&sums, term);
      if (weights == nullptr) continue;
      const u64 share = vegas_share(plan_, term, points_[h]);
      for (int axis = 0; axis < plan_.dimensions; ++axis)
        weights[axis * vegas_bins + p.bin[static_cast<std::size_t>(axis) * count + at]] += share;
    }
    sums_[task] = sums;
  }
  return count;
}

VegasSeen Processors::iterate(const VegasIteration& asked, const std::vector<double>& edges) {
  lay_out(asked);
  const std::size_t tasks = cube_of_task_.size(),
                    bins = static_cast<std::size_t>(plan_.dimensions) * vegas_bins;
  const std::int64_t holes = cube_.holes();
  sums_.resize(tasks);
  const bool learns = plan_.weight != 0;
  VegasSeen out;
  out.weights.assign(learns ? bins : 0, 0);
  // Whole numbers: whoever adds them, and when.
  std::vector<std::atomic<std::uint64_t>> weights(out.weights.size());
  const std::size_t parts = (tasks + chunk - 1) / chunk, shares = std::min<std::size_t>(parts, 64);
  std::atomic<std::size_t> left_out{0}, done{0};
  each(shares, [&](std::size_t share) {
    std::vector<std::uint64_t> own(weights.size(), 0);
    for (std::size_t k = share; k < parts; k += shares)
      if (cube_.seconds_left() > 0)
        done += sample(k * chunk, std::min(tasks, (k + 1) * chunk), edges, learns ? own.data() : nullptr);
      else ++left_out;
    for (std::size_t i = 0; i < own.size(); ++i) weights[i].fetch_add(own[i], std::memory_order_relaxed);
  });
  out.points = static_cast<std::int64_t>(done.load());
  out.finished = left_out == 0;
  if (!out.finished) return out;
  for (std::size_t i = 0; i < weights.size(); ++i) out.weights[i] = weights[i];
  const VegasTotals totals = conclude(true);
  out.value = totals.value;
  out.variance = totals.variance;
  out.magnitude = totals.magnitude;
  out.squares = totals.squares;
  out.spike = totals.spike;
  out.largest = totals.largest;
  out.holes = cube_.holes() - holes;
  return out;
}

}  // namespace

std::unique_ptr<VegasEngine> vegas_on_processors(const Cube& cube, int threads) {
  return std::make_unique<Processors>(cube, threads);
}

}  // namespace tessera::quadrature
