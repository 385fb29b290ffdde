// SPDX-License-Identifier: Apache-2.0
#include "ops/integrate/rules/vegas.hpp"
#include <algorithm>
#include <fmt/format.h>
#include "ops/integrate/rules/vegas_plan.hpp"
#include "tessera/core/error.hpp"

namespace tessera::quadrature {
namespace {

constexpr double level = 3.3;         // times sigma: one in a thousand is further off
constexpr double doubted = 3.1;       // as many sigmas of chi^2: one in a thousand scatters more
constexpr double most_of_one = 0.05;  // of the variance may come from one point
constexpr std::size_t least_results = 6;

// Scaled, as the terms are.
struct Result {
  double value, variance, magnitude, spike;
  std::int64_t points;
};

// Results of one grid, each weighed by its points: by the inverse of its variance, where every result is
// given the same variance of a point, that of all together. Each one's own would favour those which chance
// let see little.
struct Together {
  double value = 0, sigma = infinity, magnitude = 0, chi2 = 0, of_one = 0, spike = 0, points = 0;
  std::size_t freedom = 0;

  double scatter() const { return freedom == 0 ? 0 : chi2 / static_cast<double>(freedom); }
  double truncation() const { return level * sigma * std::sqrt(std::fmax(1, scatter())); }
  // What larger terms than any that was met would have brought, where one brings much of the variance: sizes
  // beyond t are then as frequent as t^-a, a share of 1 - a/2 is the largest one's, and the mean beyond it is
  // a/(a - 1).
  double beyond_spike() const {
    constexpr double least = 1.05, unsure = 1.5;
    if (of_one <= most_of_one) return 0;
    const double a = std::fmax(least, 2 * (1 - of_one));
    return unsure * spike * a / (a - 1);
  }
  // Whether the results differ by more than their sigmas allow (Wilson and Hilferty's cube root of chi^2).
  bool disagree() const {
    if (freedom == 0) return false;
    const double part = 2 / (9 * static_cast<double>(freedom));
    return !((std::cbrt(scatter()) - (1 - part)) / std::sqrt(part) <= doubted);
  }
};

Together together(const std::vector<Result>& results) {
  Together out;
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
  Sampling(Cube& cube, VegasEngine& engine, const Tolerance& tolerance, std::uint64_t seed)
      : cube_(cube), engine_(engine), tolerance_(tolerance), edges_(even_edges(cube.dimensions())) {
    asked_.seed = seed;
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

  Cube& cube_;
  VegasEngine& engine_;
  Tolerance tolerance_;
  std::vector<double> edges_;
  VegasIteration asked_;
  VegasSeen seen_;
  std::vector<Result> results_;
  Together together_;
  std::int64_t first_points_, holes_ = 0;
  double pace_ = 0;  // seconds for a point
  Reason stopped_ = Reason::converged;
};

bool Sampling::iterate(std::int64_t points, bool learn) {
  const std::int64_t d = cube_.dimensions();
  points = std::clamp<std::int64_t>(points, 16, most_vegas_points);
  const bool late = static_cast<double>(points) * pace_ > cube_.seconds_left();
  if (late || !cube_.allows(points)) {  // what takes too long is not begun
    stopped_ = late ? Reason::time : cube_.cap();
    return false;
  }
  const auto begin = std::chrono::steady_clock::now();
  ++asked_.number;
  asked_.points = points;
  asked_.typical = learn ? seen_.squares : 0;
  const double squares = seen_.squares;
  VegasSeen now = engine_.iterate(asked_, edges_);
  if (!now.finished) {
    cube_.count(now.points);
    stopped_ = Reason::time;
    return false;
  }
  seen_ = std::move(now);
  if (!(seen_.squares > 0 && std::isfinite(seen_.squares))) seen_.squares = squares;
  cube_.count(seen_.points);
  holes_ += seen_.holes;
  if (seen_.holes > 0) cube_.look_for_holes();  // of another device's holes only their number is known
  pace_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() /
          static_cast<double>(seen_.points);
  if (learn && seen_.weights.size() == static_cast<std::size_t>(d * vegas_bins))
    refine(edges_, seen_.weights);
  if (cube_.undefined()) stopped_ = Reason::non_finite;
  return !cube_.undefined();
}

// So that the largest term is about 1: an exponent alone, which loses no bit.
void Sampling::rescale() {
  const int before = std::ilogb(asked_.scale);
  const int now = std::isfinite(seen_.largest) ? before - std::ilogb(seen_.largest) : before - 600;
  asked_.scale = std::ldexp(1.0, std::clamp(now, -1000, 1000));
  const double by = std::ldexp(1.0, std::ilogb(asked_.scale) - before), squares = seen_.squares * by * by;
  seen_.squares = std::isnormal(squares) ? squares : 0x1p-10;  // what is too small or large to be squared
}

// Evenly, until something is seen: how large terms are. False where all is 0.
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
  // What rounding blurs is not agreed upon more sharply; and where only zeros were seen, that says little.
  const double blur = 4 * unit * seen_.magnitude, n = static_cast<double>(seen_.points);
  const double least = seen_.magnitude > 0 ? 0 : seen_.squares / n;
  return {seen_.value, std::fmax(seen_.variance, std::fmax(blur * blur, least)), seen_.magnitude, seen_.spike,
          seen_.points};
}

// The sigma that the tolerance asks for.
double Sampling::goal(double value) const {
  return tolerance_.of(value / asked_.scale) * asked_.scale / level;
}

// Points in all that the tolerance needs, by this result.
double Sampling::needed(const Result& r) const {
  const double ratio = std::sqrt(r.variance) / goal(r.value);
  return ratio * ratio * static_cast<double>(r.points);
}

// The grid and the cubes learn, by results that are thrown away: as long as a round saves more points than it
// takes.
void Sampling::learn() {
  constexpr int least = 5, most = 40;
  constexpr std::int64_t most_points = 1 << 20;
  double before = infinity, even = infinity;
  int idle = 0;
  std::int64_t points = first_points_;
  for (int round = 0; round < most && (round < least || idle < 2); ++round) {
    // Most is left for the sum itself.
    constexpr std::int64_t of_all = 8;
    if (!cube_.allows(of_all * points) || static_cast<double>(of_all * points) * pace_ > cube_.seconds_left())
      break;
    if (!iterate(points, true)) break;
    const double all = usable() ? needed(result()) : infinity;
    // A peak, of which too little was seen before; or one that was seen before, and not now.
    const bool higher = seen_.largest > 64, lost = !(seen_.largest > 0);
    if (round == 0) even = all;
    idle = higher || lost || before - all > static_cast<double>(points) ? 0 : idle + 1;
    before = higher ? infinity : std::fmin(before, all);
    if (higher) rescale();
    const std::int64_t more =
        round % 2 == 1 && before < infinity ? std::min<std::int64_t>(2 * points, most_points) : points;
    points = std::max(points, static_cast<std::int64_t>(std::fmin(before / 64, static_cast<double>(more))));
  }
  if (even <= before) edges_ = even_edges(cube_.dimensions());  // there was nothing to learn
}

std::int64_t Sampling::next_points() const {
  const double n = static_cast<double>(seen_.points);
  double points = 0;
  if (results_.size() < least_results) {
    const Result last = results_.empty() ? result() : results_.back();
    points = 1.1 * needed(last) / static_cast<double>(least_results);
  } else {
    const double ratio = together_.truncation() / level / goal(together_.value);
    points = 1.1 * together_.points * (ratio * ratio - 1);
  }
  points = std::fmin(std::fmax(points, n), results_.empty() ? 16 * n : 4 * n);
  const auto left = cube_.limits().evaluations - cube_.evaluations();
  return std::clamp<std::int64_t>(std::min(static_cast<std::int64_t>(std::fmin(points, 1e15)), left),
                                  first_points_, most_vegas_points);
}

void Sampling::measure() {
  constexpr std::size_t most_results = 4096;
  while (results_.size() < most_results && iterate(next_points(), false)) {
    if (!usable()) {  // something far larger than all before: these saw nothing
      rescale();
      results_.clear();
      continue;
    }
    results_.push_back(result());
    together_ = together(results_);
    if (results_.size() < least_results) continue;
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
  const double back = 1 / asked_.scale;
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
  if (results_.size() < least_results && stopped_ != Reason::converged) return stopped_;
  if (!(out.error() <= tolerance_.of(out.value)))
    return stopped_ == Reason::converged ? Reason::unresolved : stopped_;
  if (together_.disagree() || !(together_.of_one <= most_of_one)) return Reason::doubtful;
  return Reason::converged;
}

Answer Sampling::run() {
  if (!look()) {
    Answer out = answer();
    if (stopped_ != Reason::converged && seen_.points == 0) {
      out.reason = stopped_;
      return out;
    }
    out.value = 0;
    out.reason = Reason::doubtful;
    if (holes_ > 0) cube_.judge(out, true);
    if (out.undefined()) return out;
    out.why = fmt::format("all {} values seen are 0: a peak may hide between them", cube_.evaluations());
    return out;
  }
  learn();
  measure();
  Answer out = answer();
  out.reason = reason_of(out);
  if (out.reason == Reason::non_finite) cube_.judge(out, true);
  return out;
}

}  // namespace

Answer vegas(Cube& cube, const Tolerance& tolerance, const Vegas& how) {
  if (cube.dimensions() < 1 || cube.dimensions() > most_dimensions)
    throw Error(fmt::format("VEGAS takes 1 to {} variables, not {}", most_dimensions, cube.dimensions()));
  const auto engine = how.engine ? how.engine(cube) : vegas_on_processors(cube, how.threads);
  return Sampling(cube, *engine, tolerance, how.seed).run();
}

}  // namespace tessera::quadrature
