// SPDX-License-Identifier: Apache-2.0
// What a sweep or a search found, in words.
#pragma once
#include <string>
#include <vector>
#include "tessera/bench/result.hpp"

namespace tessera::tune {

// "gpu/per_element on cuda:0: x=32,y=8 is the fastest, 1.32 ± 0.01 times faster than its default x=16,y=16.":
// for each variant and device with more than one configuration. All rows are of one problem.
std::vector<std::string> conclusion(const std::vector<bench::Row>& rows);

}  // namespace tessera::tune
