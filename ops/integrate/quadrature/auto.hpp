// SPDX-License-Identifier: Apache-2.0
// The rules of one variable by their names, and `auto`, which converges only where two rules agree. Their
// points differ, but for the middles of cells:
//   1. The range is cut at the known breakpoints and at those of the formula.
//   2. tanh-sinh integrates every part; its step is halved until the error estimate meets the tolerance.
//   3. Adaptive Gauss-Kronrod starts with as many points as that took, in the same variable.
//   4. If tanh-sinh does not converge and the tail oscillates, the tail becomes an alternating series, and
//      what lies before it goes back to 2.
//   5. If it does not converge otherwise, a second Gauss-Kronrod pair with other nodes and other cuts takes
//      its place.
// Installed: for programs.
#pragma once
#include <optional>
#include <span>
#include <string>
#include "integrand.hpp"

namespace tessera::quadrature {

// Where lower > upper: minus the integral from upper to lower. Throws Error for a limit that is NaN, a
// tolerance that is negative, infinite or NaN, and caps below 1.
// `points`: known breaks; those outside the range are left out.
Answer automatic(const Integrand& f, const Range& range, const Tolerance& tolerance = {},
                 const Limits& limits = {}, std::span<const double> points = {});

void check(const Tolerance& tolerance);
void check(const Range& range, const Tolerance& tolerance, const Limits& limits);

// The integral where it needs no rule: of a constant, and between equal limits.
std::optional<Answer> integrate_trivially(const Integrand& f, const Range& range);

// "auto" compares two rules. Any other name stands for itself: its error is its own estimate. Where a limit
// is greater than the other, the integral counts negatively. Throws Error for a rule that does not exist, or
// that is for several variables, and for limits, tolerances and caps without sense.
Answer by_name(const std::string& rule, const Integrand& f, const Range& range, const Tolerance& tolerance,
               const Limits& limits, std::span<const double> points);

}  // namespace tessera::quadrature
