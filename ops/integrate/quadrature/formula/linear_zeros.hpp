// SPDX-License-Identifier: Apache-2.0
// The places that the linear parts of a formula name.
#pragma once
#include <string>
#include <vector>
#include "tessera/formula/tree.hpp"

namespace tessera::quadrature {

struct LinearZeros {
  // Zeros of parts that are linear in the variable: k for x-k. There abs(x-k), sign(x-k), comparisons, min
  // and max are not smooth, and exp(-(x-k)^2) has its peak. They hold the formula's other names.
  std::vector<formula::Tree> places;
  // True if they include every kink and jump. floor(x), abs(sin(x)) and x^3<k have others.
  bool complete = true;
};

// Finds at most `most` places.
LinearZeros linear_zeros(const formula::Tree& tree, const std::string& variable, std::size_t most);

}  // namespace tessera::quadrature
