// SPDX-License-Identifier: Apache-2.0
// Whether adding steps gives the same abscissae as multiplying by an index.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

namespace tessera::integration {

// Whether a + i·step needs no rounding up to i = strips: both are whole multiples of some unit, and few
// enough of it to be told apart.
template <class T>
bool steps_are_exact(T a, T step, std::int64_t strips) {
  if (!std::isfinite(a) || !std::isfinite(step)) return false;
  if (step == 0) return true;
  const auto lowest_digit = [](T value) {
    int exponent = 0;
    T rest = std::frexp(std::fabs(value), &exponent);
    for (; rest != std::floor(rest); rest *= 2) --exponent;
    return exponent;
  };
  const int exponent = a == 0 ? lowest_digit(step) : std::min(lowest_digit(a), lowest_digit(step));
  const T unit = std::ldexp(T(1), exponent), most = std::ldexp(T(1), std::numeric_limits<T>::digits);
  const T range = static_cast<T>(strips) * std::fabs(step);
  return unit >= std::numeric_limits<T>::min() && std::fabs(a) / unit + range / unit <= most;
}

}  // namespace tessera::integration
