// SPDX-License-Identifier: Apache-2.0
// Integrands that are products of factors without common variables, such as exp(-(x^2+y^2)): the integral is
// the product of the factors' integrals, each found by `auto` for fewer variables.
#pragma once
#include <optional>
#include "ops/integrate/quadrature/scattered/box.hpp"
#include "tessera/formula/tree.hpp"

namespace tessera::quadrature {

struct SeparateFactor {
  formula::Tree formula;
  std::vector<std::size_t> variables;  // the indices of its variables
};

// Returns at least two factors, which hold all variables together; none: the formula does not separate.
std::vector<SeparateFactor> separate_factors(const formula::Tree& tree,
                                             const std::vector<std::string>& variables);

// Returns the integral as a product. Nothing: the formula does not separate, or a factor's integral did not
// converge; its cost is subtracted from `limits`. If a factor has no integral, the product has none.
std::optional<Answer> integrate_separately(const formula::Tree& tree,
                                           const std::vector<std::string>& variables, const Box& box,
                                           const Tolerance& tolerance, Limits& limits, int threads);

}  // namespace tessera::quadrature
