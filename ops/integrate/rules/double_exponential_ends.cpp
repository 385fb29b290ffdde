// SPDX-License-Identifier: Apache-2.0
// What lies nearer to the ends of a piece, or further out, than the points of the double exponential rule.
#include <algorithm>
#include <numbers>
#include "ops/integrate/rules/double_exponential.hpp"
#include "ops/integrate/rules/fading.hpp"
#include "ops/integrate/rules/unseen.hpp"

namespace tessera::quadrature {
namespace {

// Whether f changes its sign again and again up to the outermost point, or near it. Once, further in, is a
// zero.
bool swings(std::span<const double> y, bool outwards) {
  constexpr std::size_t near = 4;
  std::size_t changes = 0;
  for (std::size_t i = 1; i < y.size(); ++i)
    if ((y[i] < 0) != (y[i - 1] < 0)) {
      if (outwards || i + near > y.size()) return true;
      ++changes;
    }
  return changes > 1;
}

double largest(std::span<const double> y) {
  double out = 0;
  for (const double value : y) out = std::fmax(out, std::fabs(value));
  return out;
}

}  // namespace

// Where f is the same at the numbers before the end of a piece, nothing is hidden between them: points may
// lie there, too. Asked only where that much is at stake.
bool DoubleExponential::see_to_the_end(int side, double height) {
  if (sampler_.range().single()) return false;  // its numbers are not these
  if (!(variable_.blind(side) * height > 1e-13 * first_step * sum_abs_)) return false;
  constexpr int steps = 8;
  const double end = end_of(side), inwards = side == 0 ? infinity : -infinity;
  double x[steps + 2], y[steps + 2];
  x[0] = std::nextafter(end, -inwards);
  x[1] = end;
  for (int i = 2; i < steps + 2; ++i) x[i] = std::nextafter(x[i - 1], inwards);
  const bool limit = variable_.is_end(side);
  if (limit) x[0] = end;
  if (!sampler_({x, steps + 2}, {y, steps + 2})) return false;
  const auto differs = [&](double value) { return !(std::fabs(value - height) <= 1e-3 * height); };
  for (int i = 2; i < steps + 2; ++i)
    if (differs(std::fabs(y[i]))) return false;
  // A jump lies between two numbers, nobody knows where.
  if (!limit && (differs(std::fabs(y[0])) || differs(std::fabs(y[1]))))
    hidden_ += 2 * height * std::fabs(end);
  variable_.stay_inside(side);
  return again_ = true;
}

// Whether f32's own values at its numbers up to the end are what they are in f64.
bool DoubleExponential::same_in_single(int side, double height, double apart) {
  constexpr int steps = 4;
  double x[steps], y[steps];
  const auto inwards = static_cast<float>(side == 0 ? infinity : -infinity);
  auto at = static_cast<float>(end_of(side));
  for (double& place : x) {
    place = static_cast<double>(at);
    at = std::nextafter(at, inwards);
  }
  x[0] = end_of(side);
  if (!sampler_(x, y)) return false;
  return std::all_of(y, y + steps, [&](double value) { return std::fabs(value - height) <= apart; });
}

// The formula in f64 tells what f32 has no numbers for. Where that is next to nothing, points may lie there.
void DoubleExponential::see_between_numbers(int side) {
  constexpr double flat = 0.05, resolved = 16;  // of its own distance, a rule's step is several times less
  if (!blind_matters(side)) return;
  const double inwards = side == 0 ? 1 : -1, blind = variable_.blind(side), length = variable_.length();
  if (const Unseen near =
          unseen_beside(sampler_.integrand(), end_of(side), inwards, std::fmin(blind, length));
      near.settles && near.variation <= flat * std::fabs(near.limit) &&
      same_in_single(side, near.limit, 2 * flat * std::fabs(near.limit))) {
    unseen_[side] = near.variation * blind;
    variable_.stay_inside(side);
    return;
  }
  const Unseen wider =
      unseen_beside(sampler_.integrand(), end_of(side), inwards, std::fmin(resolved * blind, length));
  if (!wider.settles) return;
  narrow_[side] = true;
  unseen_[side] = wider.mass + wider.variation * std::fmin(blind, length);
}

// Whether the integrand tells that no digit of a value is right.
bool DoubleExponential::is_noise(double x, double distance, double y) const {
  const Integrand& f = sampler_.integrand();
  if (!f.errors) return false;
  double error = 0;
  f.errors({&x, 1}, {&distance, 1}, {&error, 1});
  return !(error < std::fabs(y) / 4);
}

// The |t| where x is no longer told from the end.
double DoubleExponential::blind_reach(int side) const {
  const double ratio = variable_.blind(side) / variable_.length();
  if (!(ratio < 0.25)) return first_step;
  const double u =
      -std::log(ratio) / (variable_.shape() == Shape::between ? std::numbers::pi : std::numbers::pi / 2);
  return std::min(variable_.reach(), std::asinh(u));
}

// What a peak at the end brings that is so narrow that no point is told from its top; 0 where it has none.
double DoubleExponential::at_the_top(int side) {
  const double top = std::fabs(sampler_.at(end_of(side)));
  return std::isfinite(top) ? 2 * top * variable_.blind(side) : 0;
}

// Beyond the outermost point f goes on as the power of the distance that the last points show.
void DoubleExponential::find_beyond(int side, const First& first, std::size_t last) {
  const double* const distance = first.own + first.from[side];
  const double* const y = first.y + first.from[side];
  const double d1 = std::fabs(distance[last]), d0 = std::fabs(distance[last - 1]);
  const double f1 = std::fabs(y[last]), f0 = std::fabs(y[last - 1]);
  const bool outwards = d1 > d0, blind = blind_matters(side);
  if (narrow_[side]) {  // f ends otherwise than its points show
    beyond_[side] = 2 * f1 * std::fmin(d1, variable_.blind(side));
    return;
  }
  if (blind && (f1 == 0 || f0 == 0)) beyond_[side] = std::fmax(at_the_top(side), 2 * f1 * d1);
  if (f1 == 0 || f0 == 0) return;
  if (swings({y + last / 2, last + 1 - last / 2}, outwards)) {
    // Its power says nothing. If it does not grow towards the end, no more than its size is left there.
    const double size = largest({y + last / 2, last - 1 - last / 2});
    if (!outwards && std::fmax(f1, f0) <= 4 * size) {
      beyond_[side] = 4 * size * (blind ? std::fmin(d1, variable_.blind(side)) : d1);
      return;
    }
    trouble_ = Reason::unresolved;
    where_ = outwards ? (side == 0 ? -infinity : infinity) : end_of(side);
    beyond_[side] = infinity;
    return;
  }
  const double power = std::log(f1 / f0) / std::log(d1 / d0);  // f ~ d^power
  exponent_[side] = -power;
  const double margin = outwards ? -(power + 1) : power + 1;  // > 0: integrable
  // One step may be a jump's, or rounding's: what grows like a power did so before.
  if (!outwards && margin < 0.2 && last >= 2 && std::fabs(y[last - 2]) >= f0) {
    beyond_[side] = 4 * std::fmax(f1, f0) * d1;
    return;
  }
  if (margin < (blind ? 4e-3 : 1e-7)) {
    const std::size_t outermost = first.from[side] + last;
    trouble_ = is_noise(first.x[outermost], first.distance[outermost], y[last]) ? Reason::roundoff
               : blind && margin > -0.2                                         ? Reason::may_diverge
                                                                                : Reason::diverges;
    where_ = outwards ? (side == 0 ? -infinity : infinity) : end_of(side);
    beyond_[side] = infinity;
    return;
  }
  if (blind && std::fabs(power) < 0.05 && see_to_the_end(side, f1)) return;
  const double lasting = margin < 0.2 ? lasting_margin(side, first, last, margin) : margin;
  if (!(lasting > 0)) {
    trouble_ = Reason::may_diverge;
    where_ = outwards ? (side == 0 ? -infinity : infinity) : end_of(side);
    beyond_[side] = infinity;
    return;
  }
  const double missed = blind ? std::pow(std::fmin(1, variable_.blind(side) / d1), margin) : 1;
  // So near an end abscissae are rounded to a few numbers, and what they make of f is off by as much again;
  // the last point that is told from the end may lie further in than that.
  beyond_[side] = (blind || margin < 0.2 ? 4 : 1) * f1 * d1 * missed / lasting;
}

// The margin of a power that would leave as much as f does, which may fall as a power of the logarithm only.
double DoubleExponential::lasting_margin(int side, const First& first, std::size_t last,
                                         double margin) const {
  const double* const distance = first.own + first.from[side];
  const double* const y = first.y + first.from[side];
  const auto away = [&](std::size_t j) { return std::log(std::fabs(distance[j])); };
  std::size_t j = last - 1;  // where the logarithm is half of what it is at last
  while (j > 1 && std::fabs(away(j)) > std::fabs(away(last)) / 2) --j;
  const double step = away(j) - away(j - 1), power = std::log(std::fabs(y[j] / y[j - 1])) / step;
  if (!std::isfinite(power)) return margin;
  const double apart = std::fabs(away(last) + away(last - 1) - away(j) - away(j - 1)) / 2;
  return lasting_slope(step > 0 ? -(power + 1) : power + 1, margin, apart);
}

}  // namespace tessera::quadrature
