// SPDX-License-Identifier: Apache-2.0
#include "ops/integrate/rules/by_name.hpp"
#include <fmt/format.h>
#include <algorithm>
#include <optional>
#include "ops/integrate/rules/auto.hpp"
#include "ops/integrate/rules/cubature.hpp"
#include "ops/integrate/rules/double_exponential.hpp"
#include "ops/integrate/rules/equidistant.hpp"
#include "ops/integrate/rules/deadline.hpp"
#include "ops/integrate/rules/extremes.hpp"
#include "ops/integrate/rules/gauss_kronrod.hpp"
#include "ops/integrate/rules/gauss_kronrod_product.hpp"
#include "ops/integrate/rules/genz_malik.hpp"
#include "ops/integrate/rules/met_regions.hpp"
#include "ops/integrate/rules/product.hpp"
#include "ops/integrate/rules/quasi_random.hpp"
#include "ops/integrate/rules/sensitivity.hpp"
#include "ops/integrate/rules/small_heights.hpp"
#include "ops/integrate/rules/sobol.hpp"
#include "ops/integrate/rules/swinging.hpp"
#include "ops/integrate/rules/value_errors.hpp"
#include "ops/integrate/rules/vegas.hpp"
#include "ops/integrate/rules/witnesses.hpp"
#include "tessera/core/error.hpp"

namespace tessera::quadrature {
namespace {

constexpr const char* unchecked = "asked for; no other rule checks it";
constexpr const char* checked = "asked for; auto was held against it, and its evaluations are counted, too";

Range upwards(Range range) {
  if (range.lower > range.upper) std::swap(range.lower, range.upper);
  return range;
}

Error unsuited(const std::string& rule, bool one) {
  const bool known = rule == "genz_malik" || rule == "quasi_random" || rule == "vegas" ||
                     rule == "richardson" || rule == "simpson" || rule == "gauss_kronrod" ||
                     rule == "tanh_sinh" || rule == "epsilon" || rule == "oscillating";
  if (!known) return Error("there is no rule " + rule);
  return Error("the rule " + rule + (one ? " is for several variables" : " is for one variable"));
}

// Cells at first, so that no swing of f that goes on over the range falls between their points.
int cells_for(const Integrand& f, const Range& range, const Limits& limits) {
  constexpr double radians = 8, most = 2000;
  if (!range.finite()) return 1;
  Sampler sampler(f, range, limits);
  const Slopes slopes = slopes_of(sampler);
  const double swung = slopes.size > 0 ? slopes.slope * (range.upper - range.lower) / slopes.size : 0;
  return static_cast<int>(std::clamp(swung / radians, 1.0, most));
}

// `centres`: where parts of the formula change sign. What probes around these show, and no cell's points, may
// be narrow: cells are halved there.
Answer bisected(const Integrand& f, const Range& range, const Tolerance& tolerance, const Limits& limits,
                std::span<const double> points, std::span<const double> centres) {
  constexpr std::int64_t many = 50'000;  // of which probes are a small part
  const int cells = cells_for(f, range, limits);
  if (centres.empty() || !range.finite() || limits.evaluations < many)
    return gauss_kronrod(f, range, tolerance, limits, {.first_cells = cells}, points);
  Sampler sampler(f, range, limits);
  const Look seen = look(sampler, centres);
  std::vector<Track> tracks;
  for (const Piece& piece : cut(range, points)) tracks.push_back(Track::direct(piece));
  const Witnesses witnesses(seen, tracks);
  Stuck told;
  Answer out = adaptive(sampler, tracks, tolerance, {.first_cells = cells, .seen = &witnesses}, &told);
  out.truncation = std::fmax(out.truncation, told.missed);
  if (out.converged() && !(out.error() <= tolerance.of(out.value))) out.reason = Reason::doubtful;
  return out;
}

Answer of_one(const std::string& rule, const Integrand& f, const Range& range, const Tolerance& tolerance,
              const Limits& limits, std::span<const double> points, std::span<const double> centres) {
  if (rule == "tanh_sinh" || rule == "gauss_kronrod") {
    Answer out = rule == "tanh_sinh" ? tanh_sinh(f, range, tolerance, limits, points)
                                     : bisected(f, range, tolerance, limits, points, centres);
    charge_slopes(out, f, range, tolerance, limits);
    return out;
  }
  if (rule == "epsilon") return swinging(f, range, tolerance, limits, points, Swings::epsilon);
  if (rule == "oscillating") return swinging(f, range, tolerance, limits, points, Swings::ooura_mori);
  if (rule != "richardson" && rule != "simpson") throw unsuited(rule, true);
  if (!points.empty()) throw Error("the rule " + rule + " takes no known breaks");
  return rule == "simpson" ? simpson(f, range, tolerance, limits) : trapezoid(f, range, tolerance, limits);
}

// The ends that no rule but the product looks at.
void see_ends(Answer& out, const ManyValues& f, const std::vector<Axis>& axes, const Tolerance& tolerance,
              std::int64_t most) {
  // No more is allowed.
  if (out.reason == Reason::time || out.evaluations + ends_evaluations(axes.size()) > most) return;
  Cube cube(f, axes, {.evaluations = most - out.evaluations});
  std::vector<End> ends = ends_by_chance(cube);
  add_corners(cube, ends);
  out.evaluations += cube.evaluations();
  charge_ends(out, ends, scattered_reach(out), tolerance.of(out.value), axes.size());
}

// Of a rule that halves regions: these close in on the ends by themselves; but where they met a value that is
// none, they came no nearer.
void see_ends_of_regions(Answer& out, const std::vector<End>& ends, const Tolerance& tolerance,
                         std::size_t axes) {
  if (out.reason == Reason::non_finite) charge_ends(out, ends, product_reach, tolerance.of(out.value), axes);
  else if (out.converged()) may_diverge(ends, axes, out);
}

bool endless(const std::vector<Axis>& axes) {
  return std::ranges::any_of(axes, [](const Axis& axis) { return !axis.range.finite(); });
}

// On endless axes regions claim away what lies obliquely and is long and thin, of which none of their points
// know: others do.
void hold_against_chance(Answer& out, const ManyValues& f, const std::vector<Axis>& axes, int threads,
                         std::int64_t most) {
  constexpr std::int64_t few = 20'000, many = 2'000'000;
  if (!endless(axes) || !out.converged() || most - out.evaluations < few ||
      axes.size() > most_sobol_dimensions)
    return;
  Cube cube(f, axes, {.evaluations = std::min(many, most - out.evaluations)});
  const Answer other = quasi_random(cube, {.relative = 1e-3}, {.seed = 3, .threads = threads});
  out.evaluations += other.evaluations;
  const double apart = std::fabs(out.value - other.value), scatter = 1.5 * other.error();
  const bool telling = other.error() <= 0.1 * std::fmax(std::fabs(out.value), 1e-2 * out.magnitude);
  if (telling && apart <= scatter + out.error()) return;
  out.truncation = std::fmax(out.truncation, apart + scatter);
  out.reason = Reason::doubtful;
  out.why = telling ? "quasi-random points find another value"
                    : "quasi-random points know too little to vouch for it";
}

// Peaks on axes without end that lie many widths apart: each must have been met.
std::int64_t watch_far_peaks(const ManyValues& f, Box& box, const Limits& limits, bool& hurried) {
  std::int64_t spent = 0;
  const std::vector<FarPeak> far = far_peaks(f, box, {}, limits, spent, hurried);
  for (const FarPeak& peak : far) box.hidden.push_back(region_of(peak, box));
  return spent;
}

void doubt_zeros(Answer& answer) {
  answer.reason = Reason::doubtful;
  answer.truncation = infinity;
  answer.why += (answer.why.empty() ? "" : "; ") + std::string("nothing but zeros was seen");
}

// What a rule claims is no nearer to the truth than to what auto finds, which looks for what the formula
// shows.
void hold(Answer& answer, const Answer& other, const Tolerance& tolerance) {
  answer.evaluations += other.evaluations;
  if (!other.converged()) return;
  const double apart = std::fabs(answer.value - other.value), both = answer.error() + other.error();
  answer.truncation =
      std::fmax(answer.truncation, apart > both ? apart + other.error() : std::fmax(apart, other.error()));
  if (apart <= both) return;
  if (!(answer.error() <= tolerance.of(answer.value))) answer.reason = Reason::doubtful;
  answer.why += fmt::format("{}auto, which looks for what the formula shows to be narrow, finds {:.17g}",
                            answer.why.empty() ? "" : "; ", other.value);
}

bool shows_something(const Features& found) {
  return found.crowded || !found.breaks.empty() || !found.centres.empty() || !found.needles.empty();
}

// What is left of the limits for that; false: too little, or nothing is claimed.
bool may_be_held(const Answer& answer, double spent, Limits& limits) {
  constexpr std::int64_t few = 5'000;
  limits.evaluations -= answer.evaluations;
  limits.seconds -= spent;
  return answer.converged() && limits.evaluations >= few && limits.seconds > 0;
}

Answer as_named(const std::string& rule, const Integrand& f, const Range& range, const Tolerance& tolerance,
                const Limits& limits, std::span<const double> points) {
  check(range, tolerance, limits);
  if (rule == "auto" || range.lower == range.upper) return automatic(f, range, tolerance, limits, points);
  for (const double x : points)
    if (std::isnan(x)) throw Error("a known break is not a number");
  const Range up = upwards(range);
  // Where the formula breaks no rule that can be cut is asked to look across.
  std::vector<double> cuts(points.begin(), points.end()), centres;
  const bool swings = rule == "epsilon" || rule == "oscillating";
  std::optional<Deadline> clock;
  Features found;
  if (f.features && !swings) {
    clock.emplace(limits.seconds);
    found = f.features(up);
  }
  if (rule == "tanh_sinh" || rule == "gauss_kronrod") {
    centres = found.centres;
    cuts.insert(cuts.end(), found.breaks.begin(), found.breaks.end());
    cuts.insert(cuts.end(), found.needles.begin(), found.needles.end());
    // Beside a long cell's outermost point a peak is over.
    constexpr double around = 8;
    for (std::size_t i = 0; i < found.needles.size() && rule == "gauss_kronrod"; ++i)
      for (const double side : {-around, around}) cuts.push_back(found.needles[i] + side * found.widths[i]);
  }
  Answer out = of_one(rule, f, up, tolerance, limits, cuts, centres);
  // Heights that overflow when they are added, although their integral need not.
  if (const int excess = std::isfinite(out.error()) || f.constant ? 0 : excess_of(f, up); excess > 0) {
    out = as_named(rule, scaled(f, excess), range, scaled(tolerance, excess), limits, points);
    scale_back(out, excess);
    judge_size(out);
    return out;
  }
  if (out.converged() && out.value == 0 && out.magnitude == 0 && !f.constant) doubt_zeros(out);
  Limits left = limits;
  const bool held = shows_something(found) && may_be_held(out, clock->spent(), left);
  if (held) hold(out, automatic(f, up, tolerance, left, points), tolerance);
  // The rules for tails that swing have had what lies before integrated by auto.
  if (!swings) charge(out, error_of_values(f, up, cut(up, cuts), out.magnitude), tolerance);
  judge_size(out);
  if (range.lower > range.upper) out.value = -out.value;
  out.why = std::string(held ? checked : unchecked) + (out.why.empty() ? "" : "; " + out.why);
  return out;
}

Answer as_named(const std::string& rule, const ManyValues& f, const Box& box, const Tolerance& tolerance,
                const Limits& limits, std::span<const double> points, int threads, std::uint64_t seed,
                const ByRegions& by_regions, const VegasEngineFor& engine) {
  if (!points.empty()) throw Error("known breaks are for one variable");
  if (rule == "auto") return automatic_cubature(f, box, tolerance, limits, threads, by_regions);
  if (box.axes.empty()) throw Error("an integral needs a variable with limits");
  double sign = 1;
  bool empty = false;
  Box ordered;
  std::vector<Axis> axes;
  for (const Range& range : box.axes) {
    check(range, tolerance, limits);
    empty = empty || range.lower == range.upper;
    if (range.lower > range.upper) sign = -sign;
    axes.push_back(Axis::of(upwards(range)));
    ordered.axes.push_back(upwards(range));
  }
  if (box.dimensions() > most_dimensions)
    throw Error(fmt::format("{} variables are too many: {} can be integrated over", box.dimensions(),
                            most_dimensions));
  if (empty) return between_same_limits(f, ordered);
  if (const int excess = by_regions.rule || rule == "vegas" ? 0 : excess_of(f, ordered); excess > 0) {
    Answer out = as_named(rule, scaled(f, excess), box, scaled(tolerance, excess), limits, points, threads,
                          seed, {}, {});
    scale_back(out, excess);
    judge_size(out);
    return out;
  }
  Limits of_rule = limits;
  constexpr std::int64_t small_part = 16;
  std::int64_t looked = 0;
  const std::int64_t of_ends = ends_evaluations(axes.size());
  const bool by_halves = rule == "genz_malik" || rule == "gauss_kronrod",
             looks = limits.evaluations >= small_part * of_ends;
  if (rule != "tanh_sinh" && looks) of_rule.evaluations -= of_ends;
  const Deadline clock(limits.seconds);
  std::vector<End> ends;
  if (by_halves && looks) {
    Cube look(f, axes, {.evaluations = limits.evaluations / small_part});
    ends = ends_by_chance(look);
    add_corners(look, ends);
    of_rule.evaluations -= look.evaluations();
    looked = look.evaluations();
  }
  const double safety = by_halves ? missed_by_regions(ends, endless(axes)) : 1;
  const Tolerance of_regions{tolerance.relative / safety, tolerance.absolute / safety};
  ordered.hidden = box.hidden;
  bool hurried = false;
  const std::int64_t before = watch_far_peaks(f, ordered, limits, hurried);
  of_rule.evaluations -= before;
  of_rule.seconds = std::fmax(0, of_rule.seconds - clock.spent());
  MetRegions told(f, ordered);
  Cube cube(told.values(), axes, of_rule);
  Answer out;
  if (rule == "genz_malik" && by_regions.rule) out = by_regions.rule(cube, of_regions, 0.5);
  else if (rule == "genz_malik") out = genz_malik(cube, of_regions, threads);
  else if (rule == "gauss_kronrod") out = gauss_kronrod_product(cube, of_regions, threads);
  else if (rule == "quasi_random") out = quasi_random(cube, tolerance, {.seed = seed, .threads = threads});
  else if (rule == "vegas")
    out = vegas(cube, tolerance, {.seed = seed, .threads = threads, .engine = engine});
  else if (rule == "tanh_sinh") out = product_rule(cube, tolerance, threads);
  else throw unsuited(rule, false);
  out.truncation *= safety > 1 ? 0.99 * safety : 1;
  if (by_halves) {
    see_ends_of_regions(out, ends, tolerance, axes.size());
    hold_against_chance(out, f, axes, threads, of_rule.evaluations);
  } else if (rule != "tanh_sinh" && !out.undefined()) see_ends(out, f, axes, tolerance, limits.evaluations);
  // Of points that a device may compute nothing is known here, and all devices tell the same.
  const bool any_device = rule == "genz_malik" || rule == "vegas";
  told.doubt(out, tolerance, any_device ? &axes : nullptr);
  out.evaluations += before + looked;
  if ((out.converged() || out.reason == Reason::roundoff) && out.value == 0 && out.magnitude == 0)
    doubt_zeros(out);
  if (hurried && before > 0 && out.converged()) {
    out.reason = Reason::doubtful;
    out.why = "there was no time to look for peaks far apart";
  }
  // Where others than the processors may compute, all hear the same; what is held there are few variables, or
  // claims from few points: beside many it would be most of the time.
  constexpr std::int64_t some = 2'000'000, few = 100'000;
  ordered.features = box.features;
  const bool shown = (!any_device || box.dimensions() <= most_product_dimensions || out.evaluations < few) &&
                     std::any_of(box.features.begin(), box.features.end(), shows_something);
  Limits left = limits;
  const bool held = shown && may_be_held(out, clock.spent(), left);
  if (held) {
    if (any_device) left.evaluations = std::min(left.evaluations, some);
    hold(out, automatic_cubature(f, ordered, tolerance, left, threads), tolerance);
  }
  look_far_out(out, f, ordered, limits);
  judge_size(out);
  out.value *= sign;
  out.why = (out.why.empty() ? "" : out.why + "; ") + (held ? checked : unchecked);
  return out;
}

// Whether f has both signs among the nearest places on one side of x: `into` 1 above it, -1 below.
bool swings_towards(const Integrand& f, const Range& range, double x, double into) {
  if (!(into > 0 ? x < range.upper : x > range.lower)) return false;
  const bool known = f.knows[into > 0 ? 0 : 1] && x == (into > 0 ? range.lower : range.upper);
  const double finest = x == 0 || known ? 1e-300 : 16 * unit * std::fabs(x);
  bool above = false, below = false;
  for (int i = 0; i < 8; ++i)
    for (const double factor : {1.0, 0.93, 0.71, 0.57, 0.33}) {
      const double away = into * finest * std::pow(x == 0 || known ? 1e20 : 4, i) * factor;
      const double at = x + away, distance = known ? away : range.distance(at);
      if (!(range.lower <= at && at <= range.upper)) continue;
      double y = 0;
      f.values({&at, 1}, {&distance, 1}, {&y, 1});
      above = above || y > 0;
      below = below || y < 0;
    }
  return above && below;
}

// What grows without limit, but swings, may have an integral all the same: cos(log(x)/x)/x.
void doubt_divergence(Answer& answer, const Integrand& f, const Range& range) {
  if (answer.reason != Reason::diverges || !std::isfinite(answer.where)) return;
  const Range up = upwards(range);
  if (swings_towards(f, up, answer.where, 1) || swings_towards(f, up, answer.where, -1))
    answer.reason = Reason::unresolved;
}

// What is left of the caps, for one more try; false: nothing.
bool leave(Limits& limits, const Answer& first, double spent) {
  limits.evaluations -= first.evaluations;
  limits.seconds -= spent;
  return first.reason != Reason::time && limits.evaluations > 0 && limits.seconds > 0;
}

}  // namespace

Answer by_name(const std::string& rule, const Integrand& f, const Range& range, const Tolerance& tolerance,
               const Limits& limits, std::span<const double> points) {
  // To read a clock takes a thirtieth of the shortest calls, which are those of callables: of these each try
  // has all of the time.
  std::optional<Deadline> clock;
  if (f.errors) clock.emplace(limits.seconds);
  Answer out = as_named(rule, f, range, tolerance, limits, points);
  doubt_divergence(out, f, range);
  const double volume = std::fabs(range.upper - range.lower);
  if (!heights_are_small(out, volume) || f.constant == 0.0) return out;
  Limits left = limits;
  const bool again =
      !f.constant && leave(left, out, clock ? clock->spent() : 0) &&
      keep_lifted(out, as_named(rule, scaled(f, -lift), range, lifted(tolerance), left, points));
  charge_least(out, volume, again, tolerance);
  return out;
}

Answer by_name(const std::string& rule, const ManyValues& f, const Box& box, const Tolerance& tolerance,
               const Limits& limits, std::span<const double> points, int threads, std::uint64_t seed,
               const ByRegions& by_regions, const VegasEngineFor& engine) {
  const Deadline clock(limits.seconds);
  Answer out = as_named(rule, f, box, tolerance, limits, points, threads, seed, by_regions, engine);
  const double volume = volume_of(box);
  if (!heights_are_small(out, volume)) return out;
  Limits left = limits;
  // What a device computes cannot be lifted here.
  const bool again = !by_regions.rule && rule != "vegas" && leave(left, out, clock.spent()) &&
                     keep_lifted(out, as_named(rule, scaled(f, -lift), box, lifted(tolerance), left, points,
                                               threads, seed, {}, {}));
  charge_least(out, volume, again, tolerance);
  return out;
}

}  // namespace tessera::quadrature
