// SPDX-License-Identifier: Apache-2.0
// The rule that chooses the rule. A value is vouched for only where two rules that share no points
// agree, after a look at many scales showed nothing that both could have missed.
// Installed: for programs.
#pragma once
#include <span>
#include "integrand.hpp"

namespace tessera::quadrature {

// Where lower > upper: minus the integral from upper to lower. Throws Error for a limit that is NaN, a
// tolerance that is negative, infinite or NaN, and caps below 1.
// `points`: known breaks; those outside the range are left out.
Answer automatic(const Integrand& f, const Range& range, const Tolerance& tolerance = {},
                 const Limits& limits = {}, std::span<const double> points = {});

void check(const Tolerance& tolerance);
void check(const Range& range, const Tolerance& tolerance, const Limits& limits);

}  // namespace tessera::quadrature
