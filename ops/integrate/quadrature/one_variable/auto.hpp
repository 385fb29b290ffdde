// SPDX-License-Identifier: Apache-2.0
// The rules of one variable by name, and `auto`, which converges only if two rules agree. Their points
// differ, except for the middles of cells:
//   1. The range is cut at the known breakpoints and at those of the formula.
//   2. tanh-sinh integrates every part; its step is halved until the error estimate meets the tolerance.
//   3. Adaptive Gauss-Kronrod starts with as many points as tanh-sinh took, in the same variable.
//   4. If tanh-sinh does not converge and the tail oscillates, the tail becomes an alternating series, and
//      the rest of the range goes back to 2.
//   5. If tanh-sinh does not converge for another reason, a second Gauss-Kronrod pair with other nodes and
//      other cuts replaces it.
#pragma once
#include <optional>
#include <span>
#include <string>
#include "../integrand.hpp"

namespace tessera::quadrature {

// Integrates by `auto`. If lower > upper, returns the negative of the integral from upper to lower. Throws
// Error for a limit that is NaN, a tolerance that is negative, infinite or NaN, and caps below 1. `points`:
// known breaks; those outside the range are ignored.
Answer automatic(const Integrand& f, const Range& range, const Tolerance& tolerance = {},
                 const Limits& limits = {}, std::span<const double> points = {});

void check(const Tolerance& tolerance);
void check(const Range& range, const Tolerance& tolerance, const Limits& limits);

// Returns the integral of a constant or between equal limits; nullopt: a rule is needed.
std::optional<Answer> integrate_trivially(const Integrand& f, const Range& range);

// Integrates by a rule. "auto" compares two; any other name is a single rule, with its own error estimate. If
// lower > upper, the result is the negative of the integral from upper to lower. Throws Error for an unknown
// rule, a rule for several variables, and invalid limits, tolerances and caps.
Answer by_name(const std::string& rule, const Integrand& f, const Range& range, const Tolerance& tolerance,
               const Limits& limits, std::span<const double> points);

}  // namespace tessera::quadrature
