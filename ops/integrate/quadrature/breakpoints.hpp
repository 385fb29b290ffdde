// SPDX-License-Identifier: Apache-2.0
// Where a formula is not smooth: abs, sign, min, max, floor, comparisons, divisions, logarithms and roots
// whose argument changes its sign, or passes a whole number, inside the range.
#pragma once
#include <string>
#include <vector>
#include "ops/integrate/quadrature/integrand.hpp"
#include "tessera/formula/tree.hpp"

namespace tessera::quadrature {

// The argument of each such operator is computed at about a thousand points, or a hundred where it is only
// that of divisions, logarithms and roots; changes between neighbours are located by bisection. Two changes
// between neighbouring points are found only where the argument is nearly 0 there. Parts that hold other
// variables are left out. Empty where there are more than `most_breakpoints`.
std::vector<double> breakpoints(const formula::Tree& tree, const std::string& variable, const Range& range);

inline constexpr std::size_t most_breakpoints = 1024;

}  // namespace tessera::quadrature
