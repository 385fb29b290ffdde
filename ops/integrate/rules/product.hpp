// SPDX-License-Identifier: Apache-2.0
// The double exponential rule on each of two or three axes: many digits where f is analytic inside the
// box, however singular on its faces, edges and corners.
#pragma once
#include "ops/integrate/rules/domain.hpp"

namespace tessera::quadrature {

inline constexpr int most_product_dimensions = 3;

Answer product_rule(Cube& cube, const Tolerance& tolerance, int threads = 0);

}  // namespace tessera::quadrature
