// SPDX-License-Identifier: Apache-2.0
// A formula as an integrand: many points at a time, near the ends from the distance where the formula
// allows it, and with its breakpoints.
#pragma once
#include <string>
#include "ops/integrate/quadrature/box.hpp"
#include "ops/integrate/quadrature/integrand.hpp"
#include "tessera/formula/tree.hpp"

namespace tessera::quadrature {

// Of one variable. Throws Error where the tree holds another. Where range.single(), values are computed in
// f32 from abscissae of f32, and so are their errors.
Integrand integrand_of(const formula::Tree& tree, const std::string& variable, const Range& range);

// Of several, in their order.
ManyValues many_values_of(const formula::Tree& tree, const std::vector<std::string>& variables);
// How far each may be off by the formula's own rounding.
ManyValues many_errors_of(const formula::Tree& tree, const std::vector<std::string>& variables);
// The same in f32, and how far each value may be off by that.
ManyValues many_single_values_of(const formula::Tree& tree, const std::vector<std::string>& variables);
ManyValues many_single_errors_of(const formula::Tree& tree, const std::vector<std::string>& variables);

}  // namespace tessera::quadrature
