// SPDX-License-Identifier: Apache-2.0
// Pieces in the double exponential variable, refined where that helps most until all together meet the
// tolerance.
#include <algorithm>
#include "ops/integrate/rules/double_exponential.hpp"

namespace tessera::quadrature {
namespace {

struct Total {
  double value = 0, change = 0, unsteady = 0, truncation = 0, rounding = 0, magnitude = 0;
  const DoubleExponential* trouble = nullptr;
  DoubleExponential* worst = nullptr;  // of those that a smaller step may mend
};

Total total(std::span<DoubleExponential> parts, int levels) {
  Total out;
  double largest = -1;
  for (DoubleExponential& part : parts) {
    out.value += part.value();
    out.change += part.change();
    out.unsteady += part.unsteady_change();
    out.truncation += part.truncation();
    out.rounding += part.rounding();
    out.magnitude += part.magnitude();
    if (part.trouble() != Reason::converged && out.trouble == nullptr) out.trouble = &part;
    const bool settled = part.change() <= 4 * unit * part.magnitude();
    if (part.level() >= levels || settled || part.change() <= largest) continue;
    largest = part.change();
    out.worst = &part;
  }
  return out;
}

// Why no smaller step is tried.
void explain(Answer& answer, std::span<DoubleExponential> parts, const Total& sum,
             const Tolerance& tolerance) {
  const double allowed = tolerance.of(sum.value);
  if (answer.error() <= allowed) {
    answer.reason = Reason::converged;
  } else if (answer.error() <= 64 * unit * sum.magnitude) {
    answer.reason = Reason::roundoff;
  } else if (sum.trouble != nullptr) {
    answer.reason = sum.trouble->trouble();
    answer.where = sum.trouble->where();
  } else if (const double beyond = sum.truncation - sum.change;
             beyond > allowed / 2 && beyond > sum.rounding) {
    // Where f is flat towards the end, it is the digits of x that are missing.
    constexpr double flat = 0.05;
    answer.reason = Reason::roundoff;
    for (const DoubleExponential& part : parts)
      for (int side = 0; side < 2; ++side) {
        if (!(part.beyond(side) > allowed / 8) || std::fabs(part.exponent(side)) < flat) continue;
        answer.reason = Reason::singular;
        answer.where = part.end_of(side);
      }
  } else {
    answer.reason =
        sum.rounding > allowed / 2 || sum.worst == nullptr ? Reason::roundoff : Reason::unresolved;
    for (const DoubleExponential& part : parts)
      if (part.level() >= part.limit() && part.change() > allowed / 4) answer.reason = Reason::unresolved;
  }
}

}  // namespace

Answer double_exponential(Sampler& sampler, std::span<const Piece> pieces, const Tolerance& tolerance,
                          int levels) {
  constexpr int fewest_levels = 1;  // below it two sums may agree by chance
  std::vector<DoubleExponential> parts;
  parts.reserve(pieces.size());
  for (const Piece& piece : pieces) parts.emplace_back(sampler, piece, levels);
  for (DoubleExponential& part : parts)
    while (part.level() < fewest_levels && part.refine()) {
    }
  Total sum = total(parts, levels);
  while (sum.trouble == nullptr && sum.worst != nullptr &&
         !(sum.truncation + sum.rounding <= tolerance.of(sum.value)) &&
         sum.change > 0.1 * (sum.truncation - sum.change)) {
    sum.worst->refine();
    sum = total(parts, levels);
  }
  Answer out;
  out.value = sum.value;
  out.truncation = sum.truncation;
  out.rounding = sum.rounding;
  out.magnitude = sum.magnitude;
  out.evaluations = sampler.evaluations();
  out.rule = "tanh-sinh";
  explain(out, parts, sum, tolerance);
  // Steps that were not halved any more say less of what halving would gain.
  if (!out.converged() && sum.unsteady > sum.change) out.truncation += sum.unsteady - sum.change;
  return out;
}

Answer tanh_sinh(const Integrand& f, const Range& range, const Tolerance& tolerance, const Limits& limits,
                 std::span<const double> points) {
  Sampler sampler(f, range, limits);
  const Piece whole{range.lower, range.upper};
  std::vector<Piece> several;
  if (!points.empty()) several = cut(range, points);
  const std::span<const Piece> pieces = several.empty() ? std::span<const Piece>(&whole, 1) : several;
  Answer out = double_exponential(sampler, pieces, tolerance, deepest_level);
  if (!range.finite()) out.rule = whole.shape() == Shape::everywhere ? "sinh-sinh" : "exp-sinh";
  return out;
}

}  // namespace tessera::quadrature
