// SPDX-License-Identifier: Apache-2.0
#include "ops/integrate/rules/sensitivity.hpp"
#include <algorithm>

namespace tessera::quadrature {

Slopes slopes_of(Sampler& sampler) {
  constexpr std::size_t places = 12, all = 2 * places, most = 3 * places / 4;
  constexpr double golden = 0.6180339887498949, step = 0x1p-32;
  if (sampler.evaluations() + std::int64_t{all} > sampler.limits().evaluations) return {};
  const Range& range = sampler.range();
  const double length = range.upper - range.lower;
  double x[all], y[all], slope[places], steep[places], at = golden / 2;
  for (std::size_t i = 0; i < places; ++i, at += golden) {
    x[i] = range.lower + length * (at - std::floor(at));
    x[places + i] = x[i] + step * std::fmin(std::fabs(x[i]), range.upper - x[i]);
  }
  if (!sampler(x, y)) return {};
  Slopes out;
  for (std::size_t i = 0; i < places; ++i) {
    const double apart = x[places + i] - x[i], told = range.distance(x[i]);
    const bool exact = sampler.integrand().knows[told < 0 ? 1 : 0];
    slope[i] = apart > 0 ? std::fabs(y[places + i] - y[i]) / apart : 0;
    if (!std::isfinite(slope[i])) slope[i] = 0;
    steep[i] = slope[i] * std::fabs(exact ? told : x[i]);
    if (std::isfinite(y[i])) out.size = std::fmax(out.size, std::fabs(y[i]));
  }
  std::nth_element(slope, slope + most, slope + places);
  std::nth_element(steep, steep + most, steep + places);
  out.slope = slope[most];
  out.steep = steep[most];
  return out;
}

void charge_slopes(Answer& answer, const Integrand& f, const Range& range, const Tolerance& tolerance,
                   const Limits& limits) {
  if (!range.finite() || f.constant || answer.evaluations < 1) return;
  Limits left = limits;
  left.evaluations = limits.evaluations - answer.evaluations;
  Sampler sampler(f, range, left);
  const Slopes slopes = slopes_of(sampler);
  const double points = static_cast<double>(answer.evaluations);
  answer.evaluations += sampler.evaluations();
  answer.rounding = std::fmax(
      answer.rounding, unit * (4 * answer.magnitude + slopes.spoil(range.upper - range.lower, points)));
  if (answer.converged() && !(answer.error() <= tolerance.of(answer.value))) answer.reason = Reason::roundoff;
}

}  // namespace tessera::quadrature
