// SPDX-License-Identifier: Apache-2.0
#include "ops/integrate/rules/small_heights.hpp"
#include <algorithm>
#include "ops/integrate/rules/extremes.hpp"

namespace tessera::quadrature {
namespace {

constexpr double least = std::numeric_limits<double>::denorm_min(),
                 largest = std::numeric_limits<double>::max();
constexpr double small = 0x1p-900;  // from there on what is lost is far below a unit of the last place

}  // namespace

bool heights_are_small(const Answer& answer, double volume) {
  const double width = std::isfinite(volume) ? std::fmax(volume, 1) : 1;
  // Zeros alone, or what a cap ended before anything was added.
  const bool unknown =
      answer.magnitude == 0 && (answer.reason == Reason::doubtful || answer.reason == Reason::time);
  return std::isfinite(answer.value) && volume > 0 && !unknown && answer.magnitude / width < small;
}

double volume_of(const Box& box) {
  double out = 1;
  for (const Range& range : box.axes) out *= std::fabs(range.upper - range.lower);
  return out;
}

Tolerance lifted(const Tolerance& tolerance) {
  const Tolerance out = scaled(tolerance, -lift);
  return {out.relative, std::min(out.absolute, largest)};
}

bool keep_lifted(Answer& answer, Answer of_lifted) {
  constexpr double harmless = 0x1p400;
  if (!(of_lifted.magnitude < harmless) || std::isnan(of_lifted.value)) return false;
  scale_back(of_lifted, -lift);
  of_lifted.evaluations += answer.evaluations;
  answer = std::move(of_lifted);
  return true;
}

void charge_least(Answer& answer, double volume, bool lifted, const Tolerance& tolerance) {
  const double width = std::isfinite(volume) ? std::fmax(volume, 1) : 1;
  // Of the integral itself, of each height, and of each height's share in a sum.
  const double summed = lifted ? 0 : static_cast<double>(answer.evaluations);
  answer.rounding += least * std::ceil(1 + width + summed * width);
  if (answer.converged() && !(answer.error() <= tolerance.of(answer.value))) answer.reason = Reason::roundoff;
}

double lost_in_small(const ManyValues& errors, const Box& box) {
  return std::ldexp(scattered_error(scaled(errors, -lift), box), -lift);
}

}  // namespace tessera::quadrature
