// SPDX-License-Identifier: Apache-2.0
#include "ops/integrate/rules/sensitivity.hpp"
#include <algorithm>
#include <array>

namespace tessera::quadrature {

namespace {

constexpr std::size_t places = 12;

// Shares of the range, from one to the next by the golden ratio.
constexpr std::array<double, places> shares() {
  constexpr double golden = 0.6180339887498949;
  std::array<double, places> out{};
  double at = golden / 2;
  for (double& share : out) {
    share = at - static_cast<double>(static_cast<int>(at));
    at += golden;
  }
  return out;
}

// What three places of four do not exceed: the third largest, of numbers from 0 on.
double third_largest(const double (&all)[places]) {
  static_assert(places - 3 * places / 4 == 3);
  double first = 0, second = 0, third = 0;
  for (const double value : all) {
    third = std::max(third, std::min(second, value));
    second = std::max(second, std::min(first, value));
    first = std::max(first, value);
  }
  return third;
}

}  // namespace

Slopes slopes_of(Sampler& sampler) {
  constexpr std::size_t all = 2 * places;
  constexpr double step = 0x1p-32;
  static constexpr std::array<double, places> share = shares();
  if (sampler.evaluations() + std::int64_t{all} > sampler.limits().evaluations) return {};
  const Range& range = sampler.range();
  const double length = range.upper - range.lower;
  double x[all], y[all], slope[places], steep[places];
  for (std::size_t i = 0; i < places; ++i) {
    x[i] = range.lower + length * share[i];
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
  out.slope = third_largest(slope);
  out.steep = third_largest(steep);
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
