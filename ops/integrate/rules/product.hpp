// SPDX-License-Identifier: Apache-2.0
// The double exponential rule on each of two or three axes: many digits where f is analytic inside the
// box, however singular on its faces, edges and corners.
#pragma once
#include "domain.hpp"
#include "ends.hpp"

namespace tessera::quadrature {

inline constexpr int most_product_dimensions = 3;

inline constexpr double product_reach = 1.3e-16;  // how near to an end its points come, as a part of the axis

// `ends`: becomes what was seen there.
Answer product_rule(Cube& cube, const Tolerance& tolerance, int threads = 0,
                    std::vector<End>* ends = nullptr);

}  // namespace tessera::quadrature
