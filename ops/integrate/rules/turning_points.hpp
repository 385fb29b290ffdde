// SPDX-License-Identifier: Apache-2.0
// Where the parts of a formula of several variables are largest or smallest: (x+y-1)^2+(x-y)^2 inside
// exp(-1e6*…) tells of a needle that no part of one variable shows.
#pragma once
#include <string>
#include <vector>
#include "ops/integrate/rules/deadline.hpp"
#include "ops/integrate/rules/domain.hpp"
#include "tessera/formula/tree.hpp"

namespace tessera::quadrature {

// Of parts of which something steep is made, inside a box between finite limits.
std::vector<std::vector<double>> turning_points(const formula::Tree& tree,
                                                const std::vector<std::string>& variables, const Box& box,
                                                const Deadline& until = Deadline(infinity));

}  // namespace tessera::quadrature
