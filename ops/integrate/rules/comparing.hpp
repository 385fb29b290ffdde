// SPDX-License-Identifier: Apache-2.0
// Answers of two rules beside each other; of sums that cancel until nothing but rounding is left no rule has
// more digits.
#pragma once
#include <cmath>
#include "ops/integrate/rules/answer.hpp"

namespace tessera::quadrature {

// A value before none, and then the smaller error.
inline bool tells_more(const Answer& answer, const Answer& other) {
  if (std::isfinite(answer.value) != std::isfinite(other.value)) return std::isfinite(answer.value);
  return answer.error() < other.error();
}

inline bool only_rounding_left(const Answer& answer) {
  constexpr double cancels = 1e6;
  return answer.reason == Reason::roundoff && answer.condition() > cancels &&
         answer.truncation <= 8 * answer.rounding;
}

// How far another rule's value may be off, of such an integral, and still tell something.
inline double telling_of(const Answer& answer) { return 1e-4 * answer.magnitude; }

inline bool agrees(const Answer& answer, const Answer& other) {
  return other.truncation <= 10 * telling_of(answer) &&
         std::fabs(answer.value - other.value) <= 1.5 * other.error() + answer.error();
}

}  // namespace tessera::quadrature
