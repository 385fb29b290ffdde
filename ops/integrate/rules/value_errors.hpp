// SPDX-License-Identifier: Apache-2.0
// What the rounding inside an integrand leaves of its integral: (1-cos(x))/x^2 near 0 has values without a
// right digit, and no rule sees that from the values.
#pragma once
#include <span>
#include "ops/integrate/rules/variable.hpp"

namespace tessera::quadrature {

// The integral of what the values may be off, from some twenty abscissae of each piece; 0 where the integrand
// tells nothing. `magnitude`: the integral of |f|. Where no digit is right, f is taken to go on as where some
// are.
double error_of_values(const Integrand& f, const Range& range, std::span<const Piece> pieces,
                       double magnitude);

// Counts it as rounding. An answer that has converged but for this ends as roundoff, and so does one that
// could not because of it.
void charge(Answer& answer, double lost, const Tolerance& tolerance);

}  // namespace tessera::quadrature
