// SPDX-License-Identifier: Apache-2.0
// Sums that cancel until nothing but rounding is left, which no other rule has more digits of.
#pragma once
#include <cmath>
#include "ops/integrate/rules/answer.hpp"

namespace tessera::quadrature {

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
