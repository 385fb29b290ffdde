// SPDX-License-Identifier: Apache-2.0
#include "ops/integrate/quadrature/several_variables/several_variables.hpp"
#include <fmt/format.h>
#include <algorithm>
#include <deque>
#include "ops/integrate/quadrature/one_variable/auto.hpp"
#include "ops/integrate/quadrature/several_variables/genz_malik.hpp"
#include "ops/integrate/quadrature/several_variables/products.hpp"
#include "ops/integrate/quadrature/scattered/sobol.hpp"
#include "tessera/core/text/error.hpp"

namespace tessera::quadrature {
namespace {

constexpr double telling = 2e-3;  // share of a value by which another rule may differ and still confirm it

// An oblique kink may cut off a corner of a region in which Genz and Malik's rule has no point, so its first
// regions must be small.
constexpr std::size_t first_points = 150'000;

enum class Kind { adaptive, scattered };

// A running rule and its latest answer.
struct Runner {
  Kind kind;
  std::string name;
  std::function<Answer(std::int64_t)> advance;  // continues with so many more evaluations
  Answer answer = {};
  std::int64_t used = 0;
  double error_before = infinity;  // with `used_before` evaluations
  std::int64_t used_before = 0;
  bool ended = false;      // more evaluations would not help
  bool refuted = false;    // scattered points contradict its value
  bool same_grid = false;  // all points lie on one grid: at kinks its steps may agree by chance
  bool known() const { return std::isfinite(answer.error()); }
};

class Auto {
 public:
  Auto(const BatchIntegrand& f, const Box& box, const Tolerance& tolerance, const Limits& limits, int threads,
       const ByRegions& by_regions)
      : f_(f),
        box_(box),
        tolerance_(tolerance),
        threads_(threads),
        by_regions_(by_regions),
        cube_(f, box, limits) {}

  Answer run();

 private:
  template <class Rule, class... More>
  void enter(Kind kind, const char* name, double safety = 1, More... more);
  void enter_by_regions();
  void enter_vegas(const char* name, std::uint64_t seed);
  void enter_rules();
  Limits left() const;

  double allowed(const Answer& answer) const { return tolerance_.of(answer.value); }
  static bool is_candidate(const Runner& runner) {
    return !runner.refuted && runner.answer.converged() && runner.answer.magnitude > 0;
  }
  bool has_candidate() const { return std::ranges::any_of(runners_, is_candidate); }
  bool is_decisive(const Runner& runner, const Answer& candidate) const;
  bool contradicted(const Runner& runner) const;
  static bool agree(const Answer& candidate, const Runner& other);
  bool cannot_converge(const Runner& runner) const;
  void advance(Runner& runner, std::int64_t evaluations);
  bool turn(std::int64_t evaluations);
  const Runner* confirmed(Runner& candidate);
  void widen(Answer& answer, const Runner& candidate) const;
  bool decided();
  Answer undecided();
  Answer finished(Answer answer) const;

  const BatchIntegrand& f_;
  const Box& box_;
  Tolerance tolerance_;
  int threads_;
  const ByRegions& by_regions_;
  UnitCube cube_;
  std::deque<Runner> runners_;
  Answer answer_;
};

// Adds a rule with a safety factor on its errors. `more`: what its constructor takes besides.
template <class Rule, class... More>
void Auto::enter(Kind kind, const char* name, double safety, More... more) {
  const Tolerance tolerance{tolerance_.relative / safety, tolerance_.absolute / safety};
  const auto rule = std::make_shared<Rule>(cube_, tolerance, threads_, more...);
  runners_.push_back({kind, name, [rule, safety](std::int64_t evaluations) {
                        Answer out = rule->advance(evaluations);
                        if (safety > 1) out.truncation *= 0.99 * safety;
                        return out;
                      }});
}

Limits Auto::left() const {
  Limits out = cube_.limits();
  out.evaluations = cube_.evaluations_left();
  out.seconds = std::fmax(0, cube_.seconds_left());
  return out;
}

// Enters regions on another device, which run in a single turn because they cannot be interrupted.
void Auto::enter_by_regions() {
  runners_.push_back({Kind::adaptive, "Genz-Malik regions" + by_regions_.where, [this](std::int64_t) {
                        Limits limits = left();
                        limits.evaluations /= 2;
                        limits.seconds /= 2;
                        UnitCube part(f_, box_, limits);
                        Answer out = by_regions_.rule(part, tolerance_);
                        cube_.count(part.evaluations());
                        if (out.reason == Reason::evaluations) out.reason = Reason::unresolved;
                        return out;
                      }});
}

// Enters VEGAS, which starts over in each turn with more points; if there is a candidate, only to the
// accuracy that confirms it.
void Auto::enter_vegas(const char* name, std::uint64_t seed) {
  runners_.push_back({Kind::scattered, name, [this, seed](std::int64_t more) {
                        Limits limits = left();
                        limits.evaluations = more;
                        UnitCube part(f_, box_, limits);
                        Tolerance tolerance = tolerance_;
                        if (has_candidate()) tolerance.relative = std::fmax(10 * tolerance.relative, telling);
                        Answer out = vegas(part, tolerance, {.seed = seed, .threads = threads_});
                        cube_.count(part.evaluations());
                        if (out.converged() && !(out.error() <= allowed(out)))
                          out.reason = Reason::evaluations;
                        return out;
                      }});
}

void Auto::enter_rules() {
  const int d = cube_.dimensions();
  if (d <= max_product_dimensions) {
    enter<TanhSinhProduct>(Kind::adaptive, "tanh-sinh on each axis");
    runners_.back().same_grid = true;
  }
  if (by_regions_.rule && d <= max_cubature_dimensions) enter_by_regions();
  else if (d <= max_kronrod_dimensions && tolerance_.relative <= kronrod_relative)
    enter<AdaptiveCubature<KronrodProduct>>(Kind::adaptive, "Gauss-Kronrod regions");
  else if (d <= max_cubature_dimensions)
    // If an oblique kink cuts off a corner without points, errors are up to six times too small.
    enter<AdaptiveCubature<GenzMalik>>(Kind::adaptive, "Genz-Malik regions", d == 2 ? 2 : 8, first_points);
  if (d <= max_sobol_dimensions) enter<QuasiRandom>(Kind::scattered, "quasi-random points");
  if (d > max_cubature_dimensions) enter_vegas("VEGAS", 11);
  if (d > max_sobol_dimensions) enter_vegas("VEGAS from other points", 12);
}

// True if the runner is accurate enough to confirm or contradict the candidate.
bool Auto::is_decisive(const Runner& runner, const Answer& candidate) const {
  constexpr double cancelled = 0.1;
  const double size = std::fmax(std::fabs(candidate.value), cancelled * candidate.magnitude);
  return runner.answer.error() <= std::fmax(10 * allowed(candidate), telling * size);
}

bool Auto::agree(const Answer& candidate, const Runner& other) {
  const double slack = other.kind == Kind::scattered ? 1.5 : 1;
  return std::fabs(candidate.value - other.answer.value) <= candidate.error() + slack * other.answer.error();
}

// True if scattered points with a sufficiently accurate value disagree with this adaptive rule.
bool Auto::contradicted(const Runner& runner) const {
  return runner.kind == Kind::adaptive && runner.known() &&
         std::ranges::any_of(runners_, [&](const Runner& other) {
           return other.kind == Kind::scattered && other.known() && is_decisive(other, other.answer) &&
                  !agree(runner.answer, other);
         });
}

// True if, at the rate at which its error has fallen, the rule needs more evaluations than are left.
bool Auto::cannot_converge(const Runner& runner) const {
  const double error = runner.answer.error();
  if (!runner.known() || runner.used_before == 0 || !std::isfinite(runner.error_before)) return false;
  const double grown = static_cast<double>(runner.used) / static_cast<double>(runner.used_before);
  const double rate = std::clamp(std::log(runner.error_before / error) / std::log(grown), 0.05, 3.0);
  double wanted = allowed(runner.answer);
  if (has_candidate()) wanted = std::fmax(10 * wanted, telling * std::fabs(runner.answer.value));
  const double needed = static_cast<double>(runner.used) * std::pow(error / wanted, 1 / rate);
  return needed > static_cast<double>(runner.used + cube_.evaluations_left());
}

void Auto::advance(Runner& runner, std::int64_t evaluations) {
  const std::int64_t before = cube_.evaluations();
  if (runner.known()) {
    runner.error_before = runner.answer.error();
    runner.used_before = runner.used;
  }
  runner.answer = runner.advance(evaluations);
  runner.used += cube_.evaluations() - before;
  runner.ended = runner.answer.reason != Reason::evaluations;
}

// Returns the rule that confirms the candidate; null: none. An adaptive rule needs scattered points that
// agree, because they are independent of its regions; scattered points need any other rule. A single grid
// also needs regions that agree closely.
const Runner* Auto::confirmed(Runner& candidate) {
  const Runner* out = nullptr;
  bool other_grid = !candidate.same_grid;
  if (contradicted(candidate)) {
    candidate.refuted = true;
    return nullptr;
  }
  for (const Runner& other : runners_) {
    if (&other == &candidate || other.refuted || !other.known() || !is_decisive(other, candidate.answer))
      continue;
    if (contradicted(other)) continue;
    if (!agree(candidate.answer, other)) return nullptr;
    if (other.kind == Kind::adaptive && other.answer.error() <= 10 * allowed(candidate.answer))
      other_grid = true;
    if (out == nullptr && (candidate.kind == Kind::scattered || other.kind == Kind::scattered)) out = &other;
  }
  return other_grid ? out : nullptr;
}

// Raises the error to the differences from rules of similar accuracy.
void Auto::widen(Answer& answer, const Runner& candidate) const {
  for (const Runner& other : runners_) {
    const double apart = std::fabs(answer.value - other.answer.value);
    if (&other != &candidate && !other.refuted && other.known() && apart + answer.rounding <= allowed(answer))
      answer.truncation = std::fmax(answer.truncation, apart);
  }
}

bool Auto::decided() {
  for (Runner& candidate : runners_) {
    const Answer& answer = candidate.answer;
    // If parts cancel, only rounding may be left.
    const bool rounded = answer.reason == Reason::roundoff &&
                         answer.error() <= std::fmax(tolerance_.relative, 1e-12) * answer.magnitude;
    if (candidate.refuted || answer.magnitude == 0 || !(answer.converged() || rounded)) continue;
    const Runner* const other = confirmed(candidate);
    if (other == nullptr) continue;
    answer_ = answer;
    widen(answer_, candidate);
    answer_.why = fmt::format("{}, {} points; {} agree to {:.1g}", candidate.name, candidate.used,
                              other->name, std::fabs(answer.value - other->answer.value));
    return true;
  }
  return false;
}

// Lets each rule work in turn. False: no rule can improve any more.
bool Auto::turn(std::int64_t evaluations) {
  const auto active = [](const Runner& runner) { return !runner.ended && !runner.refuted; };
  const bool some_hope =
      std::ranges::any_of(runners_, [&](const Runner& r) { return active(r) && !cannot_converge(r); });
  bool worked = false;
  auto waiting = std::ranges::count_if(runners_, active);
  for (Runner& runner : runners_) {
    if (!active(runner)) continue;
    const std::int64_t share = std::min(evaluations, cube_.evaluations_left() / waiting--);
    if (share < 1 || !(cube_.seconds_left() > 0)) continue;
    if ((some_hope || has_candidate()) && cannot_converge(runner)) continue;
    const std::int64_t before = cube_.evaluations();
    advance(runner, share);
    worked = worked || cube_.evaluations() > before || runner.ended;
    if (runner.answer.undefined() || cube_.undefined() || decided()) return true;
  }
  return worked;
}

// Returns the answer with the smallest error, raised to its difference from rules that disagree.
Answer Auto::undecided() {
  const Runner* best = nullptr;
  bool seen = false, disputed = false;
  for (const Runner& runner : runners_) {
    seen = seen || runner.answer.magnitude > 0;
    disputed = disputed || runner.refuted;
    if (!runner.refuted && std::isfinite(runner.answer.value) &&
        (best == nullptr || runner.answer.error() < best->answer.error()))
      best = &runner;
  }
  Answer out = best != nullptr ? best->answer : Answer{};
  if (!seen && best != nullptr) {
    out.reason = Reason::doubtful;
    out.truncation = infinity;
    out.why = fmt::format("all {} values seen are 0: a peak may hide between them", cube_.evaluations());
    return out;
  }
  for (const Runner& other : runners_) {
    if (&other == best || !other.known()) continue;
    const double apart = std::fabs(out.value - other.answer.value);
    if (!(apart > out.error() + 1.5 * other.answer.error())) continue;
    out.truncation = std::fmax(out.truncation, apart);
    disputed = true;
  }
  if (best != nullptr) out.why = fmt::format("{}, {} points", best->name, best->used);
  const bool over = !(cube_.seconds_left() > 0) || cube_.evaluations_left() < 1000;
  if (disputed) {
    out.reason = Reason::doubtful;
    out.why += "; rules disagree";
  } else if (best == nullptr || out.converged()) {
    // No rule was left to confirm it.
    out.reason = best == nullptr || over ? cube_.cap() : Reason::doubtful;
  }
  return out;
}

Answer Auto::run() {
  constexpr std::int64_t first = 400'000, factor = 4;
  enter_rules();
  bool reserve = cube_.dimensions() <= max_cubature_dimensions;
  for (std::int64_t evaluations = first;; evaluations *= factor) {
    const bool worked = turn(evaluations);
    for (const Runner& runner : runners_)
      if (runner.answer.undefined()) return finished(runner.answer);
    if (cube_.undefined()) {
      Answer out;
      cube_.judge(out);
      return finished(out);
    }
    if (decided()) return finished(answer_);
    // If rules disagree, or only scattered points converge, VEGAS contributes other points.
    const bool wanted = std::ranges::any_of(runners_, [](const Runner& r) {
      return r.refuted || (r.kind == Kind::scattered && is_candidate(r));
    });
    if (reserve && (wanted || !worked)) {
      enter_vegas("VEGAS", 11);
      reserve = false;
    } else if (!worked) return finished(undecided());
    if (!(cube_.seconds_left() > 0) || cube_.evaluations_left() < 1) return finished(undecided());
  }
}

Answer Auto::finished(Answer answer) const {
  answer.evaluations = cube_.evaluations();
  return answer;
}

Answer by_name(const std::string& rule, UnitCube& cube, const Tolerance& tolerance, int threads,
               std::uint64_t seed, const ByRegions& by_regions, const VegasEngineFor& engine) {
  const auto to_the_end = [&cube](auto running) { return running.advance(cube.evaluations_left()); };
  if (rule == "genz_malik" && by_regions.rule) return by_regions.rule(cube, tolerance);
  if (rule == "genz_malik") return to_the_end(AdaptiveCubature<GenzMalik>(cube, tolerance, threads));
  if (rule == "gauss_kronrod") return to_the_end(AdaptiveCubature<KronrodProduct>(cube, tolerance, threads));
  if (rule == "tanh_sinh") return to_the_end(TanhSinhProduct(cube, tolerance, threads));
  if (rule == "quasi_random") return to_the_end(QuasiRandom(cube, tolerance, threads, seed));
  if (rule == "vegas") return vegas(cube, tolerance, {.seed = seed, .threads = threads, .engine = engine});
  throw Error("the rule " + rule + " is for one variable");
}

}  // namespace

Answer integrate_several(const std::string& rule, const BatchIntegrand& f, const Box& box,
                         const Tolerance& tolerance, const Limits& limits, std::span<const double> points,
                         int threads, std::uint64_t seed, const ByRegions& by_regions,
                         const VegasEngineFor& engine) {
  if (!points.empty()) throw Error("known breaks are for one variable");
  if (box.axes.empty()) throw Error("an integral needs a variable with limits");
  if (box.dimensions() > max_dimensions)
    throw Error(fmt::format("{} variables are too many: {} can be integrated over", box.dimensions(),
                            max_dimensions));
  Box upwards = box;
  double sign = 1;
  bool empty = false;
  for (Range& range : upwards.axes) {
    check(range, tolerance, limits);
    if (range.lower > range.upper) {
      std::swap(range.lower, range.upper);
      sign = -sign;
    }
    empty = empty || range.lower == range.upper;
  }
  Answer out;
  if (empty) {
    out.value = out.truncation = 0;
    out.rule = "none";
    out.why = "two limits are the same";
    out.reason = Reason::converged;
    return out;
  }
  if (rule == "auto" && box.dimensions() > 1) {
    out = Auto(f, upwards, tolerance, limits, threads, by_regions).run();
  } else {
    UnitCube cube(f, upwards, limits);
    out = by_name(rule, cube, tolerance, threads, seed, by_regions, engine);
    if (out.value == 0 && out.magnitude == 0 && !std::isinf(out.truncation)) {
      out.reason = Reason::doubtful;
      out.truncation = infinity;
      out.why += (out.why.empty() ? "" : "; ") + std::string("all samples were zero");
    }
    out.why += (out.why.empty() ? "" : "; ") + std::string("asked for; no other rule checks it");
  }
  judge_size(out);
  out.value *= sign;
  return out;
}

}  // namespace tessera::quadrature
