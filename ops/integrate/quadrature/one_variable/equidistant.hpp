// SPDX-License-Identifier: Apache-2.0
// Rules of evenly spaced points, for integrands and for tables of samples.
#pragma once
#include <span>
#include <vector>
#include "../integrand.hpp"

namespace tessera::quadrature {

// Integrate by trapezoid sums of 128, 256 … strips: with Richardson's elimination of the powers of h that the
// sums show, or by Simpson's rule. An end without a finite value counts as 0.
Answer trapezoid(const Integrand& f, const Range& range, const Tolerance& tolerance = {},
                 const Limits& limits = {});
Answer simpson(const Integrand& f, const Range& range, const Tolerance& tolerance = {},
               const Limits& limits = {});

// Returns the integrals of samples at ordered abscissae. The error is the difference to the integral of every
// second sample and the last; with two samples it is infinite. Throws Error if x is not strictly increasing.
Answer trapezoid_of(std::span<const double> x, std::span<const double> y);
Answer simpson_of(std::span<const double> x, std::span<const double> y);

}  // namespace tessera::quadrature
