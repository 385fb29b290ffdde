// SPDX-License-Identifier: Apache-2.0
// A formula near an end of its range, without cancellation. If x = b - d and d is tiny, 1 - x^2 computed from
// x has lost digits of d; computed as d·(2 - d) it has not.
#pragma once
#include <string>
#include <string_view>
#include "tessera/formula/tree.hpp"

namespace tessera::formula {

enum class End { lower, upper };

inline constexpr std::string_view distance_name = "distance from the end";  // no name that can be typed

struct AtEnd {
  Tree tree;           // over the variable, distance_name and the formula's other variables
  bool exact = false;  // true if any part was rewritten; else the tree is the formula itself
  bool saves = false;  // true if a rewritten part, as typed, loses digits even if x is the distance
};

// Returns the formula with x = at + distance (lower end) or x = at - distance (upper end), distance ≥ 0. A
// part that is exactly 0 at the end, be it a polynomial of x or made of log, exp, cos, roots, powers and the
// like (log(1/x) at 1, exp(x)-1 at 0), is computed from the distance alone. Everything else keeps x, which
// the caller still gives, rounded. The end must be a number; parameters in such a part must have been
// substituted.
AtEnd with_distance(const Tree& tree, std::string_view variable, End end, double at);

}  // namespace tessera::formula
