// SPDX-License-Identifier: Apache-2.0
// Beside a jump a formula's own rounding leaves open on which side a point lies: (x-0.5)^2+1 < 1+1e-12
// changes at a place that is known to 1e-10, not to the last digit of x. What the integral may be off by is
// how wide that zone is, times the jump.
#pragma once
#include <span>
#include "ops/integrate/rules/domain.hpp"
#include "ops/integrate/rules/variable.hpp"

namespace tessera::quadrature {

// Both sides of each end of the pieces; 0 where the integrand tells nothing (Integrand::open). Infinite where
// f has no value on one of the sides.
double open_beside_cuts(const Integrand& f, const Range& range, std::span<const Piece> pieces);

// The same of several variables, beside the breaks that `features` has for each axis, at scattered places of
// the other axes. `open`: how much f would move (many_open_of). Limits in any order.
double open_beside_breaks(const ManyValues& f, const ManyValues& open, const Box& box,
                          std::span<const Features> features);

}  // namespace tessera::quadrature
