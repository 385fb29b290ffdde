// SPDX-License-Identifier: Apache-2.0
#include "ops/integrate/rules/auto.hpp"
#include "ops/integrate/rules/chooser.hpp"
#include "tessera/core/error.hpp"

namespace tessera::quadrature {
namespace {

// The same integrand for limits exchanged: what lies above the lower limit is not what it was.
Answer negated(Answer answer) {
  answer.value = -answer.value;
  answer.why += "; the limits are exchanged, so this is minus the integral";
  return answer;
}

Answer of_constant(double value, const Range& range) {
  Answer out;
  out.value = value == 0 ? 0 : value * (range.upper - range.lower);
  out.magnitude = std::fabs(out.value);
  out.rounding = 2 * unit * out.magnitude;
  out.truncation = 0;
  out.rule = "none";
  out.why = "the integrand is a constant";
  out.reason = Reason::converged;
  if (std::isfinite(out.value)) return out;
  out.truncation = infinity;
  out.reason = std::isfinite(value) ? Reason::diverges : Reason::non_finite;
  return out;
}

}  // namespace

void check(const Range& range, const Tolerance& tolerance, const Limits& limits) {
  if (std::isnan(range.lower) || std::isnan(range.upper))
    throw Error("a limit of the integral is not a number");
  if (!(tolerance.relative >= 0) || !(tolerance.absolute >= 0)) throw Error("a tolerance must be 0 or more");
  if (tolerance.relative == 0 && tolerance.absolute == 0) throw Error("one tolerance must be more than 0");
  if (limits.evaluations < 1 || !(limits.seconds > 0) || limits.regions < 1)
    throw Error("a cap must be more than 0");
}

Answer automatic(const Integrand& f, const Range& range, const Tolerance& tolerance, const Limits& limits,
                 std::span<const double> points) {
  check(range, tolerance, limits);
  if (range.lower == range.upper) {
    Answer out;
    out.value = out.truncation = 0;
    out.reason = Reason::converged;
    out.rule = "none";
    out.why = "the limits are the same";
    return out;
  }
  if (range.finite() && !std::isfinite(range.upper - range.lower))
    throw Error("the range is longer than the largest number: infinite limits may be meant");
  if (f.constant) return of_constant(*f.constant, range);
  if (range.lower > range.upper)
    return negated(automatic(f, {range.upper, range.lower}, tolerance, limits, points));
  return Chooser(f, range, tolerance, limits, points).run();
}

}  // namespace tessera::quadrature
