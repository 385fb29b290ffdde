// SPDX-License-Identifier: Apache-2.0
// The rules of one variable by their names, as commands and programs name them.
#pragma once
#include <span>
#include <string>
#include "ops/integrate/quadrature/integrand.hpp"

namespace tessera::quadrature {

// "auto" compares two rules. Any other name stands for itself: its error is its own estimate. Where a limit
// is greater than the other, the integral counts negatively. Throws Error for a rule that does not exist, or
// that is for several variables, and for limits, tolerances and caps without sense.
Answer by_name(const std::string& rule, const Integrand& f, const Range& range, const Tolerance& tolerance,
               const Limits& limits, std::span<const double> points);

}  // namespace tessera::quadrature
