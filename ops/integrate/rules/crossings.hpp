// SPDX-License-Identifier: Apache-2.0
// Where several parts of a formula of several variables are 0 together: exp(-1e8*(x-0.3)^2) times
// exp(-1e8*(x+y-1)^2) is a needle where both lines meet, and one factor alone a ridge along its line. The
// text tells these places, no value of f does.
#pragma once
#include <string>
#include <vector>
#include "ops/integrate/rules/deadline.hpp"
#include "ops/integrate/rules/domain.hpp"
#include "tessera/formula/tree.hpp"

namespace tessera::quadrature {

// The needles and ridges on which f stands out from what surrounds it, the heaviest first. Boxes between
// finite limits alone; parts that are not linear are 0 at more places than are found.
std::vector<HiddenRegion> crossings(const formula::Tree& tree, const std::vector<std::string>& variables,
                                    const Box& box, const Deadline& until = Deadline(infinity));

}  // namespace tessera::quadrature
