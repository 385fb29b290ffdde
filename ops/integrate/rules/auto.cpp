// SPDX-License-Identifier: Apache-2.0
#include "ops/integrate/rules/auto.hpp"
#include <fmt/format.h>
#include "ops/integrate/rules/chooser.hpp"
#include "ops/integrate/rules/extremes.hpp"
#include "tessera/core/error.hpp"

namespace tessera::quadrature {
namespace {

// The same integrand for limits exchanged: what lies above the lower limit is not what it was.
Answer negated(Answer answer) {
  answer.value = -answer.value;
  answer.why += "; the limits are exchanged, so this is minus the integral";
  return answer;
}

Answer of_constant(const Integrand& f, const Range& range) {
  const double value = *f.constant, anywhere = 0;
  double error = 0;
  if (f.errors && range.finite()) f.errors({&anywhere, 1}, {&anywhere, 1}, {&error, 1});
  Answer out;
  out.value = value == 0 ? 0 : value * (range.upper - range.lower);
  out.magnitude = std::fabs(out.value);
  out.rounding = 2 * range.rounding * out.magnitude;
  if (error > 0 && std::isfinite(error)) out.rounding += error * std::fabs(range.upper - range.lower);
  out.truncation = 0;
  out.rule = "none";
  out.why = "the integrand is a constant";
  out.reason = Reason::converged;
  if (std::isfinite(out.value)) return out;
  out.truncation = infinity;
  if (std::isfinite(value)) {
    out.reason = range.finite() ? Reason::too_large : Reason::diverges;
    return out;
  }
  // Nowhere has it a value: any place tells that.
  out.rounding = out.magnitude = 0;
  out.reason = Reason::non_finite;
  out.where = std::isfinite(range.lower) ? range.lower : std::isfinite(range.upper) ? range.upper : 0;
  return out;
}

// Nothing times the height there, which must be a number for that.
Answer of_no_width(const Integrand& f, double x) {
  const double distance = 0;
  double height = 0;
  f.values({&x, 1}, {&distance, 1}, {&height, 1});
  Answer out;
  out.evaluations = 1;
  out.rule = "none";
  out.why = "the limits are the same";
  out.reason = std::isfinite(height) ? Reason::converged : Reason::non_finite;
  if (out.converged()) out.value = out.truncation = 0;
  else out.where = x;
  return out;
}

// All numbers from one limit to the other, where these are few.
std::vector<double> abscissae(const Range& range) {
  constexpr std::size_t most = 1024;
  std::vector<double> out;
  const double largest = std::fmax(std::fabs(range.lower), std::fabs(range.upper));
  if (!(range.upper - range.lower <= most * 2 * unit * largest)) return out;
  for (double x = range.lower; x <= range.upper; x = std::nextafter(x, infinity)) {
    if (out.size() == most) return {};
    out.push_back(x);
  }
  return out;
}

// Where x has no digits for a rule, but f can be computed wherever x can be.
Answer of_all(const Integrand& f, const Range& range, const std::vector<double>& x,
              const Tolerance& tolerance) {
  const std::size_t count = x.size();
  std::vector<double> distance(count), y(count), error(count, 0.0);
  for (std::size_t i = 0; i < count; ++i) distance[i] = range.distance(x[i]);
  f.values(x, distance, y);
  if (f.errors) f.errors(x, distance, error);
  Answer out;
  out.value = out.truncation = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (!std::isfinite(y[i])) {
      out.value = nothing;
      out.truncation = infinity;
      out.where = x[i];
      out.reason = Reason::non_finite;
      break;
    }
    if (i == 0) continue;
    const double half = (x[i] - x[i - 1]) / 2;
    out.value += half * y[i - 1] + half * y[i];
    out.magnitude += half * std::fabs(y[i - 1]) + half * std::fabs(y[i]);
    out.truncation += half * std::fabs(y[i] - y[i - 1]);
    out.rounding += half * (error[i - 1] + error[i]);
  }
  out.rounding += 4 * unit * out.magnitude + unit * static_cast<double>(count) * out.magnitude;
  out.evaluations = static_cast<std::int64_t>(count);
  out.rule = "trapezoid";
  out.why = "so near each other the limits have only " + std::to_string(count) +
            " numbers from one to the other: f is computed at each";
  if (out.reason != Reason::non_finite)
    out.reason = out.error() <= tolerance.of(out.value) ? Reason::converged : Reason::roundoff;
  return out;
}

// Heights that overflow when they are added, or squared, although their integral need not.
Answer of_scaled(const Integrand& f, const Range& range, const Tolerance& tolerance, const Limits& limits,
                 std::span<const double> points, int excess) {
  const Integrand small = scaled(f, excess);
  Answer out = Chooser(small, range, scaled(tolerance, excess), limits, points).run();
  scale_back(out, excess);
  return out;
}

// f at these distances from an end, or so far out.
struct Beyond {
  static constexpr std::size_t count = 9;
  double x[count], away[count], y[count];
};

// Whether f has one sign at these places and beside each. What swings may have an integral however slowly it
// falls: sin(x)/sqrt(x). `near`: the places' distances from `end`; nothing: they are far out, or beside 0
// within the range.
bool keeps_its_sign(const Integrand& f, const Range& range, std::span<const double> places, double end,
                    const double* near, double sign) {
  for (std::size_t i = 0; i < places.size(); ++i)
    for (const double factor : {1.0, 0.93, 0.71, 0.57, 0.33}) {
      const double x = near != nullptr ? end + near[i] * factor : places[i] * factor;
      const double distance = near != nullptr ? near[i] * factor : range.distance(x);
      double y = 0;
      f.values({&x, 1}, {&distance, 1}, {&y, 1});
      if (!(sign > 0 ? y > 0 : y < 0)) return false;
    }
  return true;
}

// Whether |f| goes on growing like the inverse distance, or more, to the last numbers. Its coefficient may be
// so small that no sum of its points shows it: 1+1e-24/x. `inside`: 0 lies within the range.
bool diverges_at(const Integrand& f, const Range& range, int side, bool inside) {
  const double end = inside ? 0 : side == 0 ? range.lower : range.upper, into = side == 0 ? 1 : -1;
  // Far out a callable's digits are not known.
  if (!f.errors || (!std::isinf(end) && end != 0 && !f.knows[side])) return false;
  Beyond at;
  double distance[Beyond::count];
  for (std::size_t i = 0; i < Beyond::count; ++i) {
    // Far out a small coefficient needs numbers below those of the distances.
    const double outermost = std::isinf(end) ? 250 : 300, d = std::pow(10, outermost - 20.0 * double(i));
    at.away[i] = std::isinf(end) ? d : 1 / d;
    at.x[i] = std::isinf(end) ? -into * d : end + into / d;
    distance[i] = inside || std::isinf(end) ? range.distance(at.x[i]) : into / d;
  }
  constexpr double none = 1e-200;
  f.values({at.x, 1}, {distance, 1}, {at.y, 1});
  if (!(std::fabs(at.y[0]) * at.away[0] > none) || !std::isfinite(at.y[0])) return false;
  f.values(at.x, distance, at.y);
  double error[Beyond::count] = {};
  f.errors(at.x, distance, error);
  double before = infinity;
  for (std::size_t i = 0; i < Beyond::count; ++i) {  // from the outermost one inwards
    const double term = std::fabs(at.y[i]) * at.away[i];
    if (!std::isfinite(term) || !(term <= before * (1 + 1e-6)) || !(error[i] <= std::fabs(at.y[i]) / 8))
      return false;
    before = term;
  }
  return before > 0 &&
         keeps_its_sign(f, range, at.x, end, inside || std::isinf(end) ? nullptr : distance, at.y[0]);
}

void look_for_divergence(Answer& answer, const Integrand& f, const Range& range) {
  for (const int side : {0, 1})
    for (const bool inside : {false, true}) {
      if (inside && !(range.lower < 0 && 0 < range.upper)) continue;
      if (!answer.converged() || !diverges_at(f, range, side, inside)) continue;
      answer.value = nothing;
      answer.truncation = infinity;
      answer.reason = Reason::diverges;
      answer.where = inside ? 0 : side == 0 ? range.lower : range.upper;
    }
}

Answer with_first(Answer answer, const Answer& first) {
  answer.evaluations += first.evaluations;
  return answer;
}

// Whether f may be known better beside the place that the answer fell short at, once a part ends there.
bool wants_parts(const Integrand& f, const Range& range, const Answer& answer) {
  return f.within && (answer.without_limit() || answer.reason == Reason::singular) &&
         range.lower < answer.where && answer.where < range.upper;
}

// Each side of a place by itself: what x has no digits for, distances from an end have.
Answer of_parts(const Integrand& f, const Range& range, const Tolerance& tolerance, Limits limits,
                std::span<const double> points, const Answer& whole) {
  Answer out;
  out.value = out.truncation = 0;
  out.reason = Reason::converged;
  out.why = fmt::format("each side of x = {:.6g} by itself", whole.where);
  limits.evaluations = (limits.evaluations - whole.evaluations) / 2;
  limits.seconds /= 4;
  const Range sides[2] = {{range.lower, whole.where, range.rounding},
                          {whole.where, range.upper, range.rounding}};
  for (const Range& side : sides) {
    Integrand part = f.within(side);
    part.within = {};  // once is enough
    const Answer of = automatic(part, side, {tolerance.relative / 2, tolerance.absolute / 4}, limits, points);
    out.value += of.value;
    out.truncation += of.truncation;
    out.rounding += of.rounding;
    out.magnitude += of.magnitude;
    out.evaluations += of.evaluations;
    out.why += "; " + of.why;
    if (out.rule[0] == 0 || !of.converged()) out.rule = of.rule;
    if (of.converged() || !out.converged()) continue;
    out.reason = of.reason;
    out.where = of.where;
  }
  if (out.converged() && !(out.error() <= tolerance.of(out.value))) out.reason = Reason::roundoff;
  return with_first(std::move(out), whole);
}

}  // namespace

void check(const Tolerance& tolerance) {
  // Within an infinite one everything converges, divergent integrals too.
  if (!(tolerance.relative >= 0 && tolerance.relative < infinity) ||
      !(tolerance.absolute >= 0 && tolerance.absolute < infinity))
    throw Error("a tolerance must be 0 or more, and finite");
}

void check(const Range& range, const Tolerance& tolerance, const Limits& limits) {
  if (std::isnan(range.lower) || std::isnan(range.upper))
    throw Error("a limit of the integral is not a number");
  check(tolerance);
  if (tolerance.relative == 0 && tolerance.absolute == 0) throw Error("one tolerance must be more than 0");
  if (limits.evaluations < 1 || !(limits.seconds > 0) || limits.regions < 1)
    throw Error("a cap must be more than 0");
}

Answer automatic(const Integrand& f, const Range& range, const Tolerance& tolerance, const Limits& limits,
                 std::span<const double> points) {
  check(range, tolerance, limits);
  for (const double x : points)
    if (std::isnan(x)) throw Error("a known break is not a number");
  if (range.lower == range.upper) return of_no_width(f, range.lower);
  if (range.finite() && !std::isfinite(range.upper - range.lower))
    throw Error("the range is longer than the largest number: infinite limits may be meant");
  if (f.constant) return of_constant(f, range);
  if (range.lower > range.upper)
    return negated(automatic(f, {range.upper, range.lower}, tolerance, limits, points));
  const std::vector<double> all = abscissae(range);
  const bool computable = !all.empty() && static_cast<std::int64_t>(all.size()) <= limits.evaluations;
  // An integrand that takes distances has digits where x has none.
  if (computable && !f.knows[0] && !f.knows[1]) return of_all(f, range, all, tolerance);
  Chooser chooser(f, range, tolerance, limits, points);
  Answer out = chooser.run();
  if (wants_parts(f, range, out) && out.evaluations < limits.evaluations / 2)
    out = of_parts(f, range, tolerance, limits, points, out);
  if (computable && out.evaluations == 0) return of_all(f, range, all, tolerance);
  constexpr double harmless = 0x1p400;  // what may be squared and added
  if (!out.converged() && chooser.largest() > harmless && out.evaluations <= limits.evaluations / 2)
    out = with_first(of_scaled(f, range, tolerance, limits, points, std::ilogb(chooser.largest())), out);
  if (!range.single()) look_for_divergence(out, f, range);
  judge_size(out);
  return out;
}

}  // namespace tessera::quadrature
