// SPDX-License-Identifier: Apache-2.0
// Conditions on whole numbers, "m*n <= 16384 && (x == 1 || y < 4)": they bound a search space.
#pragma once
#include <string>
#include <string_view>
#include <vector>
#include "tessera/core/expression.hpp"

namespace tessera {

// Comparisons (== != <= >= < >) of expressions, joined by && and ||, which binds less; parentheses and !.
// Throws Error as evaluate() does, and where something is no comparison.
bool holds(std::string_view condition, const Dims& names);

std::vector<std::string> names_in(std::string_view text);  // each once, in the order of the text

}  // namespace tessera
