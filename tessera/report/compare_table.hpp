// SPDX-License-Identifier: Apache-2.0
// Two documents' times side by side, with the verdicts.
#pragma once
#include <string>
#include <vector>
#include "tessera/bench/compare.hpp"

namespace tessera::report {

// One line a pair, below it how many there are of each verdict.
std::string compare_table(const std::vector<bench::Pair>& pairs);

}  // namespace tessera::report
