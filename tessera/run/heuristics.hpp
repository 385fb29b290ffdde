// SPDX-License-Identifier: Apache-2.0
// Selects a rung among several that can compute something. By default the highest place is taken; a heuristic
// holds a rung back where another one is faster. Each operation keeps its heuristics in ops/NAME/heuristics.
#pragma once
#include <functional>
#include <string>
#include <vector>
#include "tessera/core/operation/variant.hpp"

namespace tessera {

// Returns a sentence that says why another rung is faster for these arguments, whose addresses are the
// device's; std::nullopt: the rung keeps its priority.
using Heuristic = std::function<Reason(const Arguments& arguments, const Device& device)>;

// Applies to the rungs of these names, on every kind of device that has them.
void register_heuristic(const std::string& operation, const std::vector<std::string>& variants,
                        const Heuristic& heuristic);

// Returns the first heuristic's sentence. A rung that is held back is taken where its caller names it, where
// `tune` found it for the same sizes, where no other rung can compute the arguments, and where the arguments
// ask for a promise: heuristics choose by sizes, on which its bits must not depend.
[[nodiscard]] Reason held_back(const Variant& variant, const Arguments& arguments, const Device& device);

}  // namespace tessera
