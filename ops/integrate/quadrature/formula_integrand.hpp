// SPDX-License-Identifier: Apache-2.0
// A formula as an integrand: many points at a time, near the ends from the distance where the formula
// allows it, and with its breakpoints.
#pragma once
#include <string>
#include <vector>
#include "ops/integrate/quadrature/box.hpp"
#include "ops/integrate/quadrature/integrand.hpp"
#include "tessera/formula/tree.hpp"

namespace tessera::quadrature {

// Of one variable. Throws Error where the tree holds another. Where range.single(), values are computed in
// f32 from abscissae of f32, and so are their errors.
Integrand integrand_of(const formula::Tree& tree, const std::string& variable, const Range& range);

// Of several, in their order.
BatchIntegrand batch_integrand_of(const formula::Tree& tree, const std::vector<std::string>& variables);
// The same in f32.
BatchIntegrand many_single_values_of(const formula::Tree& tree, const std::vector<std::string>& variables);

// The argument of each such operator is computed at about a thousand points, or a hundred where it is only
// that of divisions, logarithms and roots; changes between neighbours are located by bisection. Two changes
// between neighbouring points are found only where the argument is nearly 0 there. Parts that hold other
// variables are left out. Empty where there are more than `most_breakpoints`.
std::vector<double> breakpoints(const formula::Tree& tree, const std::string& variable, const Range& range);

inline constexpr std::size_t most_breakpoints = 1024;

// A comparison, a minimum or a maximum, which may break where its two arguments meet.
bool breaks_where_arguments_meet(formula::Op op);

}  // namespace tessera::quadrature
