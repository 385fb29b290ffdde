// SPDX-License-Identifier: Apache-2.0
// Merges the findings that one mistake causes, and words the remedies of races.
#pragma once
#include <nlohmann/json.hpp>
#include <vector>

namespace tessera::frontend {

// Returns one finding for each cause. Races of a kernel have one cause if one change removes them: they need
// a barrier at the same place, an atomic on the same line, or a fence beside the same atomic. A thread that
// leaves several arrays has one cause. A merged finding has "also": other lines, or pairs of lines. Races get
// a "remedy".
std::vector<nlohmann::ordered_json> by_cause(const std::vector<nlohmann::ordered_json>& findings,
                                             const std::vector<nlohmann::ordered_json>& launches);

}  // namespace tessera::frontend
