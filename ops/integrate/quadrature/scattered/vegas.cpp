// SPDX-License-Identifier: Apache-2.0
#include "ops/integrate/quadrature/scattered/vegas.hpp"
#include <algorithm>
#include <atomic>
#include <fmt/format.h>
#include <span>
#include "ops/integrate/quadrature/scattered/vegas_point.hpp"
#include "tessera/formula/elementary.hpp"
#include "tessera/core/text/error.hpp"

namespace tessera::quadrature {
namespace {

// Returns strata^(d - finer) · (strata + 1)^finer, or 0 if that is more than `most`.
std::int64_t cubes_within(int dimensions, std::int64_t strata, int finer, std::int64_t most) {
  std::int64_t out = 1;
  for (int axis = 0; axis < dimensions; ++axis) {
    out *= strata + (axis < finer ? 1 : 0);
    if (out > most) return 0;
  }
  return out;
}

// Limits the growth of a bin's width to half of its neighbour's. Otherwise a bin across a jump to 0 would be
// so wide that its nonzero part is hardly ever hit. Returns the new sum of the weights.
double soften(std::span<const double> edges, double* weights, double sum) {
  constexpr double growth = 0.5;
  double wide[vegas_bins];  // the width of a new bin at the old one
  const auto width = [&](int i) {
    return edges[static_cast<std::size_t>(i) + 1] - edges[static_cast<std::size_t>(i)];
  };
  for (int i = 0; i < vegas_bins; ++i) wide[i] = width(i) * (sum / vegas_bins) / weights[i];
  const auto limit = [&](int i, int beside) {
    wide[i] = std::fmin(wide[i], wide[beside] + growth * (width(i) + width(beside)) / 2);
  };
  for (int i = 1; i < vegas_bins; ++i) limit(i, i - 1);
  for (int i = vegas_bins - 2; i >= 0; --i) limit(i, i + 1);
  double out = 0;
  for (int i = 0; i < vegas_bins; ++i) {
    weights[i] = std::fmax(weights[i], width(i) * (sum / vegas_bins) / wide[i]);
    out += weights[i];
  }
  return out;
}

void refine_axis(std::span<double> edges, std::span<const std::uint64_t> weights) {
  double smooth[vegas_bins], total = 0;
  for (int i = 0; i < vegas_bins; ++i) {
    const auto at = [&](int k) {
      return static_cast<double>(weights[static_cast<std::size_t>(std::clamp(k, 0, vegas_bins - 1))]);
    };
    smooth[i] = (at(i - 1) + 6 * at(i) + at(i + 1)) / 8;
    total += smooth[i];
  }
  if (!(total > 0)) return;
  double sum = 0;
  for (double& w : smooth) {
    // Damps the refinement, because the shares are noisy. No bin's weight becomes 0.
    const double share = std::fmax(w / total, 1e-30);
    w = share >= 1 ? 1 : (share - 1) / formula::elementary::log(share) + 1e-4 / vegas_bins;
    sum += w;
  }
  sum = soften(edges, smooth, sum);
  double next[vegas_bins + 1] = {0}, in_hand = 0;
  int from = 0;
  for (int i = 1; i < vegas_bins; ++i) {
    const double wanted = sum * i / vegas_bins;
    while (in_hand < wanted && from < vegas_bins) in_hand += smooth[from++];
    const auto right = static_cast<std::size_t>(from);
    next[i] = edges[right] - (in_hand - wanted) / smooth[from - 1] * (edges[right] - edges[right - 1]);
    next[i] = std::clamp(next[i], next[i - 1], 1.0);
  }
  next[vegas_bins] = 1;
  std::copy(next, next + vegas_bins + 1, edges.begin());
}

}  // namespace

VegasPlan plan_of(int dimensions, const VegasIteration& requested) {
  const std::int64_t most = std::clamp<std::int64_t>(requested.points / 4, 1, max_vegas_cubes);
  std::int64_t strata = 1;
  while (cubes_within(dimensions, strata + 1, 0, most) != 0) ++strata;
  int finer = 0;
  while (finer + 1 < dimensions && cubes_within(dimensions, strata, finer + 1, most) != 0) ++finer;
  VegasPlan out{};
  out.dimensions = dimensions;
  out.finer = finer;
  out.strata = static_cast<std::uint32_t>(strata);
  out.wide = 1.0 / static_cast<double>(strata);
  out.narrow = 1.0 / static_cast<double>(strata + 1);
  out.iteration = requested.number;
  out.seed_low = static_cast<std::uint32_t>(requested.seed);
  out.seed_high = static_cast<std::uint32_t>(requested.seed >> 32);
  out.scale = requested.scale;
  out.max_weight = std::floor(0x1p62 / static_cast<double>(2 * requested.points));
  if (requested.typical > 0) {
    // A typical square counts 2^20 in the mean of its cube's points.
    const double cubes = cubes_of(out);
    out.weight = 0x1p20 / requested.typical * (static_cast<double>(requested.points) / cubes);
    if (!std::isfinite(out.weight)) out.weight = 0;
  }
  return out;
}

std::uint32_t cubes_of(const VegasPlan& plan) {
  return static_cast<std::uint32_t>(cubes_within(plan.dimensions, plan.strata, plan.finer, max_vegas_cubes));
}

std::vector<double> even_edges(int dimensions) {
  std::vector<double> out;
  for (int axis = 0; axis < dimensions; ++axis)
    for (int i = 0; i <= vegas_bins; ++i) out.push_back(static_cast<double>(i) / vegas_bins);
  return out;
}

void refine(std::vector<double>& edges, const std::vector<std::uint64_t>& weights) {
  constexpr std::size_t bins = vegas_bins;
  for (std::size_t axis = 0; axis * bins < weights.size(); ++axis)
    refine_axis(std::span(edges).subspan(axis * (bins + 1), bins + 1),
                std::span(weights).subspan(axis * bins, bins));
}

namespace {

constexpr double level = 3.3;        // times sigma: one in a thousand is further off
constexpr double doubted = 3.1;      // sigmas of chi^2: one in a thousand scatters more
constexpr double max_of_one = 0.05;  // the largest share of the variance from one point
constexpr std::size_t min_results = 6;

// The result of an iteration, with the scale of the terms.
struct Result {
  double value, variance, magnitude, spike;
  std::int64_t points;
};

// Results of one grid, each weighted by its points, which is the inverse of its variance if all results have
// the same variance per point. Weights by each result's own variance would favour results that missed large
// values by chance.
struct CombinedResult {
  double value = 0, sigma = infinity, magnitude = 0, chi2 = 0, of_one = 0, spike = 0, points = 0;
  std::size_t freedom = 0;

  double scatter() const { return freedom == 0 ? 0 : chi2 / static_cast<double>(freedom); }
  double truncation() const { return level * sigma * std::sqrt(std::fmax(1, scatter())); }
  // Returns the contribution of terms larger than any that was seen, if one term brings much of the variance:
  // sizes beyond t then have the frequency t^-a, the largest one has a share of 1 - a/2, and the mean beyond
  // it is a/(a - 1).
  double beyond_spike() const {
    constexpr double least = 1.05, unsure = 1.5;
    if (of_one <= max_of_one) return 0;
    const double a = std::fmax(least, 2 * (1 - of_one));
    return unsure * spike * a / (a - 1);
  }
  // True if the results differ by more than their sigmas allow (Wilson and Hilferty's cube root of chi^2).
  bool disagree() const {
    if (freedom == 0) return false;
    const double part = 2 / (9 * static_cast<double>(freedom));
    return !((std::cbrt(scatter()) - (1 - part)) / std::sqrt(part) <= doubted);
  }
};

CombinedResult together(const std::vector<Result>& results) {
  CombinedResult out;
  for (const Result& r : results) out.points += static_cast<double>(r.points);
  double variance = 0;
  for (const Result& r : results) {
    const double share = static_cast<double>(r.points) / out.points;
    out.value += share * r.value;
    out.magnitude += share * r.magnitude;
    variance += share * share * r.variance;
    out.spike = std::fmax(out.spike, share * r.spike);
  }
  out.sigma = std::sqrt(variance);
  out.of_one = out.spike * out.spike / variance;
  out.freedom = results.size() - 1;
  for (const Result& r : results) {
    const double share = static_cast<double>(r.points) / out.points;
    out.chi2 += (r.value - out.value) * (r.value - out.value) * share / variance;
  }
  return out;
}

class Sampling {
 public:
  Sampling(UnitCube& cube, VegasEngine& engine, const Tolerance& tolerance, std::uint64_t seed)
      : cube_(cube), engine_(engine), tolerance_(tolerance), edges_(even_edges(cube.dimensions())) {
    requested_.seed = seed;
    first_points_ = std::clamp<std::int64_t>(cube.limits().evaluations / 32, 16, 1 << 14);
  }

  Answer run();

 private:
  bool iterate(std::int64_t points, bool learn);
  bool look();
  void rescale();
  void learn();
  void measure();
  std::int64_t next_points() const;
  bool usable() const { return std::isfinite(seen_.value) && std::isfinite(seen_.variance); }
  Result result() const;
  double goal(double value) const;
  double needed(const Result& r) const;
  Answer answer() const;
  Reason reason_of(const Answer& answer) const;

  UnitCube& cube_;
  VegasEngine& engine_;
  Tolerance tolerance_;
  std::vector<double> edges_;
  VegasIteration requested_;
  IterationStats seen_;
  std::vector<Result> results_;
  CombinedResult together_;
  std::int64_t first_points_, holes_ = 0;
  double pace_ = 0;  // seconds per point
  Reason stopped_ = Reason::converged;
};

bool Sampling::iterate(std::int64_t points, bool learn) {
  const std::int64_t d = cube_.dimensions();
  points = std::clamp<std::int64_t>(points, 16, max_vegas_points);
  const bool late = static_cast<double>(points) * pace_ > cube_.seconds_left();
  if (late || !cube_.allows(points)) {  // an iteration that takes too long is not started
    stopped_ = late ? Reason::time : cube_.cap();
    return false;
  }
  const auto begin = std::chrono::steady_clock::now();
  ++requested_.number;
  requested_.points = points;
  requested_.typical = learn ? seen_.squares : 0;
  const double squares = seen_.squares;
  IterationStats now;
  if (!cube_.within_caps([&] { now = engine_.iterate(requested_, edges_); }) || !now.finished) {
    stopped_ = now.finished ? cube_.cap() : Reason::time;
    return false;
  }
  seen_ = std::move(now);
  if (!(seen_.squares > 0 && std::isfinite(seen_.squares))) seen_.squares = squares;
  holes_ += seen_.holes;
  if (seen_.holes > 0) cube_.look_for_holes();  // another device reports only the number of its holes
  pace_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() /
          static_cast<double>(seen_.points);
  if (learn && seen_.weights.size() == static_cast<std::size_t>(d * vegas_bins))
    refine(edges_, seen_.weights);
  if (cube_.undefined()) stopped_ = Reason::non_finite;
  return !cube_.undefined();
}

// Scales the largest term to about 1, by a power of two, so that no bit is lost.
void Sampling::rescale() {
  const int before = std::ilogb(requested_.scale);
  const int now = std::isfinite(seen_.largest) ? before - std::ilogb(seen_.largest) : before - 600;
  requested_.scale = std::ldexp(1.0, std::clamp(now, -1000, 1000));
  const double by = std::ldexp(1.0, std::ilogb(requested_.scale) - before), squares = seen_.squares * by * by;
  seen_.squares = std::isnormal(squares) ? squares : 0x1p-10;  // replaces squares that overflow or underflow
}

// Samples evenly until a value other than 0 shows the size of terms. False: none was seen.
bool Sampling::look() {
  for (std::int64_t points = first_points_; points <= 64 * first_points_; points *= 4) {
    if (!iterate(points, false)) return false;
    if (!(seen_.largest > 0)) continue;
    rescale();
    return true;
  }
  return false;
}

Result Sampling::result() const {
  // The variance is at least that of rounding and, if only zeros were seen, that of earlier squares.
  const double blur = 4 * unit * seen_.magnitude, n = static_cast<double>(seen_.points);
  const double least = seen_.magnitude > 0 ? 0 : seen_.squares / n;
  return {seen_.value, std::fmax(seen_.variance, std::fmax(blur * blur, least)), seen_.magnitude, seen_.spike,
          seen_.points};
}

double Sampling::goal(double value) const {
  return tolerance_.of(value / requested_.scale) * requested_.scale / level;
}

// Returns the total number of points that the tolerance needs, by this result.
double Sampling::needed(const Result& r) const {
  const double ratio = std::sqrt(r.variance) / goal(r.value);
  return ratio * ratio * static_cast<double>(r.points);
}

// Adapts the grid and the cubes by results that are then discarded, while a round saves more points than it
// takes.
void Sampling::learn() {
  constexpr int least = 5, most = 40;
  constexpr std::int64_t max_points = 1 << 20;
  double before = infinity, even = infinity;
  int idle = 0;
  std::int64_t points = first_points_;
  for (int round = 0; round < most && (round < least || idle < 2); ++round) {
    // Keeps most evaluations for the sum itself.
    constexpr std::int64_t of_all = 8;
    if (!cube_.allows(of_all * points) || static_cast<double>(of_all * points) * pace_ > cube_.seconds_left())
      break;
    if (!iterate(points, true)) break;
    const double all = usable() ? needed(result()) : infinity;
    // higher: a peak that was hardly sampled before; lost: a peak that was sampled before, and not now.
    const bool higher = seen_.largest > 64, lost = !(seen_.largest > 0);
    if (round == 0) even = all;
    idle = higher || lost || before - all > static_cast<double>(points) ? 0 : idle + 1;
    before = higher ? infinity : std::fmin(before, all);
    if (higher) rescale();
    const std::int64_t more =
        round % 2 == 1 && before < infinity ? std::min<std::int64_t>(2 * points, max_points) : points;
    points = std::max(points, static_cast<std::int64_t>(std::fmin(before / 64, static_cast<double>(more))));
  }
  if (even <= before) edges_ = even_edges(cube_.dimensions());  // there was nothing to learn
}

std::int64_t Sampling::next_points() const {
  const double n = static_cast<double>(seen_.points);
  double points = 0;
  if (results_.size() < min_results) {
    const Result last = results_.empty() ? result() : results_.back();
    points = 1.1 * needed(last) / static_cast<double>(min_results);
  } else {
    const double ratio = together_.truncation() / level / goal(together_.value);
    points = 1.1 * together_.points * (ratio * ratio - 1);
  }
  points = std::fmin(std::fmax(points, n), results_.empty() ? 16 * n : 4 * n);
  const auto left = cube_.limits().evaluations - cube_.evaluations();
  return std::clamp<std::int64_t>(std::min(static_cast<std::int64_t>(std::fmin(points, 1e15)), left),
                                  first_points_, max_vegas_points);
}

void Sampling::measure() {
  constexpr std::size_t max_results = 4096;
  while (results_.size() < max_results && iterate(next_points(), false)) {
    if (!usable()) {  // a term far larger than all before: earlier results missed it
      rescale();
      results_.clear();
      continue;
    }
    results_.push_back(result());
    together_ = together(results_);
    if (results_.size() < min_results) continue;
    if (const Reason reason = reason_of(answer());
        reason == Reason::converged || reason == Reason::non_finite)
      return;
  }
}

Answer Sampling::answer() const {
  Answer out;
  out.rule = "vegas";
  out.evaluations = cube_.evaluations();
  if (results_.empty()) return out;
  const double back = 1 / requested_.scale;
  out.value = together_.value * back;
  out.magnitude = together_.magnitude * back;
  out.truncation = (together_.truncation() + together_.beyond_spike()) * back;
  out.rounding = 16 * unit * out.magnitude;
  out.why = fmt::format("{} iterations, chi^2 {:.2g} for each degree of freedom", results_.size(),
                        together_.scatter());
  if (holes_ > 0) out.why += fmt::format("; {} values that are not finite count as 0", holes_);
  return out;
}

Reason Sampling::reason_of(const Answer& out) const {
  if (cube_.undefined() || static_cast<double>(holes_) > 1e-3 * static_cast<double>(out.evaluations))
    return Reason::non_finite;
  if (results_.size() < min_results && stopped_ != Reason::converged) return stopped_;
  if (!(out.error() <= tolerance_.of(out.value)))
    return stopped_ == Reason::converged ? Reason::unresolved : stopped_;
  if (together_.disagree() || !(together_.of_one <= max_of_one)) return Reason::doubtful;
  return Reason::converged;
}

Answer Sampling::run() {
  if (!look()) {
    Answer out = answer();
    const bool unseen = stopped_ != Reason::converged && seen_.points == 0;
    if (!unseen) out.value = 0;
    out.reason = unseen ? stopped_ : Reason::doubtful;
    cube_.judge(out);
    if (unseen || out.undefined()) return out;
    out.why = fmt::format("all {} values seen are 0: a peak may hide between them", cube_.evaluations());
    return out;
  }
  learn();
  measure();
  Answer out = answer();
  out.reason = reason_of(out);
  if (out.reason == Reason::non_finite) cube_.judge(out);
  return out;
}

// VEGAS on the CPU: the integrand computes many points in one call, and threads share the tasks.
constexpr std::size_t chunk = 64;  // tasks that one thread does at a time

class Processors : public VegasEngine {
 public:
  Processors(const UnitCube& cube, int threads) : cube_(cube), threads_(threads) {}

  IterationStats iterate(const VegasIteration& requested, const std::vector<double>& edges) override;

 private:
  void lay_out(const VegasIteration& requested);
  std::size_t sample(std::size_t first, std::size_t last, const std::vector<double>& edges,
                     std::uint64_t* weights);
  std::size_t place(std::size_t first, std::size_t last, const std::vector<double>& edges);
  VegasTotals summarize(bool sampled);

  const UnitCube& cube_;
  int threads_;
  VegasPlan plan_{};
  std::vector<double> wanted_;
  std::vector<u32> points_, first_task_, cube_of_task_;
  std::vector<VegasSums> sums_;
};

// A thread's points, in buffers that its next chunk reuses.
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

// Draws four words for each point, for four axes.
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

// Joins cubes in groups, and these in groups again. `sampled`: new sums give the cubes' totals and `wanted`.
VegasTotals Processors::summarize(bool sampled) {
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
    const VegasTotals out = vegas_summary(all, points_[h], part);
    wanted_[h] = out.wanted;
    return out;
  };
  std::vector<VegasTotals> supers((cubes + super - 1) / super, VegasTotals{});
  share_parts(threads_, supers.size(), [&](std::size_t s) {
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

void Processors::lay_out(const VegasIteration& requested) {
  const VegasPlan before = plan_;
  plan_ = plan_of(cube_.dimensions(), requested);
  const u32 cubes = cubes_of(plan_);
  if (wanted_.empty()) {
    wanted_.assign(cubes, 1);
  } else if (before.strata != plan_.strata || before.finer != plan_.finer) {
    std::vector<double> now(cubes);
    for (u32 h = 0; h < cubes; ++h) now[h] = wanted_[vegas_parent(before, plan_, h)];
    wanted_ = std::move(now);
  }
  const VegasAllocation deal =
      vegas_allocation(summarize(false).wanted, static_cast<double>(requested.points), cubes);
  points_.resize(cubes);
  first_task_.resize(cubes);
  cube_of_task_.clear();
  for (u32 h = 0; h < cubes; ++h) {
    points_[h] = vegas_points(wanted_[h], deal);
    first_task_[h] = static_cast<u32>(cube_of_task_.size());
    cube_of_task_.insert(cube_of_task_.end(), vegas_task_count(points_[h]), h);
  }
}

// Places the points of some tasks on the unit cube; returns their number.
std::size_t Processors::place(std::size_t first, std::size_t last, const std::vector<double>& edges) {
  Points& p = own_points();
  std::size_t count = 0;
  const auto points_of = [&](std::size_t task, u32& from) {
    const u32 h = cube_of_task_[task];
    from = static_cast<u32>(task - first_task_[h]) * vegas_task_points;
    return vegas_min(vegas_task_points, points_[h] - from);
  };
  u32 from = 0, stratum[max_dimensions];
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

// Returns the number of points.
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
    for (u32 left = vegas_min(vegas_task_points, points_[h] - from); left > 0; --left, ++at) {
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

IterationStats Processors::iterate(const VegasIteration& requested, const std::vector<double>& edges) {
  lay_out(requested);
  const std::size_t tasks = cube_of_task_.size(),
                    bins = static_cast<std::size_t>(plan_.dimensions) * vegas_bins;
  const std::int64_t holes = cube_.holes();
  sums_.resize(tasks);
  const bool learns = plan_.weight != 0;
  // Weights are integers, so threads may add them in any order.
  std::vector<std::atomic<std::uint64_t>> weights(learns ? bins : 0);
  const std::size_t parts = (tasks + chunk - 1) / chunk, shares = std::min<std::size_t>(parts, 64);
  std::atomic<std::size_t> done{0};
  share_parts(threads_, shares, [&](std::size_t share) {
    std::vector<std::uint64_t> own(weights.size(), 0);
    for (std::size_t k = share; k < parts; k += shares)
      done += sample(k * chunk, std::min(tasks, (k + 1) * chunk), edges, learns ? own.data() : nullptr);
    for (std::size_t i = 0; i < own.size(); ++i) weights[i].fetch_add(own[i], std::memory_order_relaxed);
  });
  IterationStats out = stats_of(summarize(true));
  out.points = static_cast<std::int64_t>(done.load());
  out.weights.assign(weights.begin(), weights.end());
  out.holes = cube_.holes() - holes;
  return out;
}

}  // namespace

std::unique_ptr<VegasEngine> vegas_on_processors(const UnitCube& cube, int threads) {
  return std::make_unique<Processors>(cube, threads);
}

Answer vegas(UnitCube& cube, const Tolerance& tolerance, const Vegas& how) {
  if (cube.dimensions() < 1 || cube.dimensions() > max_dimensions)
    throw Error(fmt::format("VEGAS takes 1 to {} variables, not {}", max_dimensions, cube.dimensions()));
  const auto engine = how.engine ? how.engine(cube) : vegas_on_processors(cube, how.threads);
  return Sampling(cube, *engine, tolerance, how.seed).run();
}

}  // namespace tessera::quadrature
