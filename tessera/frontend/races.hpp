// SPDX-License-Identifier: Apache-2.0
// Merges the races that one mistake causes, and words its remedy.
#pragma once
#include <nlohmann/json.hpp>
#include <vector>

namespace tessera::frontend {

// Returns the findings with one race for each cause. Races of a kernel have one cause if one change removes
// them: they need a barrier at the same place, an atomic on the same line, or a fence beside the same atomic.
// The merged race has "remedy", and "also": the other pairs of lines. Other findings stay as they are.
std::vector<nlohmann::ordered_json> races_by_cause(const std::vector<nlohmann::ordered_json>& findings,
                                                   const std::vector<nlohmann::ordered_json>& launches);

}  // namespace tessera::frontend
