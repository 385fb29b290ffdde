// SPDX-License-Identifier: Apache-2.0
// Where a formula with parameters has kinks, jumps and peaks, as formulas of its parameters.
#pragma once
#include <string>
#include <vector>
#include "tessera/formula/tree.hpp"

namespace tessera::integrate_batch {

struct Breakpoints {
  // Where a part that is linear in the variable is 0: x-k at k. There abs(x-k), sign(x-k), comparisons, min
  // and max are not smooth, and exp(-(x-k)^2) has its peak.
  std::vector<formula::Tree> places;
  // Whether every kink and jump is among them. floor(x), abs(sin(x)) and x^3<k have others.
  bool complete = true;
};

// At most so many places.
Breakpoints breakpoints_of(const formula::Tree& tree, const std::string& variable, std::size_t most);

}  // namespace tessera::integrate_batch
