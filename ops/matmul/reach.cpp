// SPDX-License-Identifier: Apache-2.0
#include "reach.hpp"
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace tessera::matmul {

Reach Reach::overflowing(bool rises, bool falls) const {
  Reach out = *this;
  out.plus = plus || (rises && number);
  out.minus = minus || (falls && number);
  out.nan = nan || (rises && (minus || (falls && number))) || (falls && plus);
  return out;
}

Reach Reach::with(double x) const {
  if (std::isnan(x)) return nothing_but_nan();
  if (std::isfinite(x)) return *this;
  const bool up = x > 0, along = up ? plus : minus, against = up ? minus : plus;
  const bool infinite = number || along;
  return {false, up && infinite, !up && infinite, nan || against};
}

Reach Reach::times(double factor, double low, double high) const {
  if (std::isnan(factor)) return nothing_but_nan();
  if (factor == 0) return {number, false, false, nan || plus || minus};
  Reach out = *this;
  if (std::isinf(factor)) {
    out.number = false;
    out.plus = plus || (number && high > 0);
    out.minus = minus || (number && low < 0);
    out.nan = nan || (number && low <= 0 && high >= 0);
  }
  if (factor < 0) std::swap(out.plus, out.minus);
  return out;
}

// What is not ReLU has no limit at -∞ that IEEE's arithmetic finds: 0·∞.
Reach Reach::activated(Activation activation) const {
  Reach out = *this;
  if (activation == Activation::none) return out;
  out.minus = false;
  if (activation == Activation::relu) out.nought = minus;
  else out.nan = nan || minus;
  return out;
}

std::uint8_t Reach::beyond() const {
  return static_cast<std::uint8_t>((plus ? Expected::infinity : 0) | (minus ? Expected::minus_infinity : 0) |
                                   (nan ? Expected::not_a_number : 0));
}

void Reach::append(double low, double high, double most, Expected& expected) const {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (!number) low = infinity, high = -infinity;
  if (nought) low = std::min(low, 0.0), high = std::max(high, 0.0);
  Reach rest = *this;
  rest.plus |= number && high > most;
  rest.minus |= number && low < -most;
  low = std::max(low, -most), high = std::min(high, most);
  double value = low, bound = 0;
  if (low < high) {
    value = low / 2 + high / 2;
    bound = (high / 2 - low / 2) * (1 + 0x1p-50);
  } else if (low > high && rest.plus != rest.minus) {  // no number
    value = rest.plus ? infinity : -infinity;
    rest.plus = rest.minus = false;
  } else if (low > high) {
    value = std::numeric_limits<double>::quiet_NaN();
    rest.nan = false;
  }
  expected.value.push_back(value);
  expected.bound.push_back(bound);
  expected.beyond.push_back(rest.beyond());
}

}  // namespace tessera::matmul
