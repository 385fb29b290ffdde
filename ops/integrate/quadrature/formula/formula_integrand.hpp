// SPDX-License-Identifier: Apache-2.0
// A formula as an integrand: computes many points at a time, uses the distance near the ends if the formula
// allows it, and finds breakpoints.
#pragma once
#include <string>
#include <vector>
#include "ops/integrate/quadrature/scattered/box.hpp"
#include "ops/integrate/quadrature/integrand.hpp"
#include "tessera/formula/tree.hpp"

namespace tessera::quadrature {

// Returns the integrand of one variable. Throws Error if the tree holds another. If range.single(), values
// and their errors are computed in f32 from f32 abscissae.
Integrand integrand_of(const formula::Tree& tree, const std::string& variable, const Range& range);

// Returns the integrand of several variables, in their order.
BatchIntegrand batch_integrand_of(const formula::Tree& tree, const std::vector<std::string>& variables);
// Returns the same integrand, computed in f32.
BatchIntegrand many_single_values_of(const formula::Tree& tree, const std::vector<std::string>& variables);

// Returns the points where the formula may not be smooth. The arguments of its operators are computed at
// about a thousand points, or a hundred if the operators are only divisions, logarithms and roots. Changes
// between neighbours are located by bisection; two changes only if the argument is nearly 0 there. Parts with
// other variables are ignored. Empty if there are more than `max_breakpoints`.
std::vector<double> breakpoints(const formula::Tree& tree, const std::string& variable, const Range& range);

inline constexpr std::size_t max_breakpoints = 1024;

// Returns the breakpoints, the zeros of linear parts, and the places where an exponent is largest, or a
// divisor or an argument of tanh and its like smallest, and changes much between two of some hundred points.
std::vector<double> cuts_of(const formula::Tree& tree, const std::string& variable, const Range& range);

// True for a comparison, a minimum or a maximum, which may not be smooth where its two arguments are equal.
bool breaks_where_arguments_meet(formula::Op op);

}  // namespace tessera::quadrature
