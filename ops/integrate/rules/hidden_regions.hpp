// SPDX-License-Identifier: Apache-2.0
// Parts of a box that a comparison in the formula cuts off, too small for scattered points to lie in: the
// sign of x+y-1.9999 changes near one corner alone. No value shows them, but the formula does. Installed: for
// programs.
#pragma once
#include <string>
#include <vector>
#include "ops/integrate/rules/deadline.hpp"
#include "ops/integrate/rules/domain.hpp"
#include "tessera/formula/tree.hpp"

namespace tessera::quadrature {

// Of each comparison whose outcome is the same at all scattered points a place where it is the other one, if
// corners and a search from the nearest point show any; needles where parts turn, or are 0 together.
std::vector<HiddenRegion> hidden_regions(const formula::Tree& tree, const std::vector<std::string>& variables,
                                         const Box& box, const Deadline& until = Deadline(infinity));

}  // namespace tessera::quadrature
