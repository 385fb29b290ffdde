// SPDX-License-Identifier: Apache-2.0
// Sentences below a table of measured rows: how much faster the fastest rung was, and warnings about figures
// that are less trustworthy than they look, each with its remedy.
#pragma once
#include <string>
#include <vector>
#include "tessera/bench/result.hpp"

namespace tessera::bench {

// A ratio of two medians and the error that their spreads propagate to.
struct Ratio {
  double value = 0, error = 0;
};
Ratio ratio_of(const Summary& of, const Summary& to);

// "shared_tiles ran 1.88 ± 0.07 times faster than per_element, …": for each device and mode its fastest
// own rung against the rung before it and the fastest baseline. Empty where there is no such pair.
std::vector<std::string> summary_of(const std::vector<Row>& rows);

// All rows are of one problem.
std::vector<std::string> warnings(const std::vector<Row>& rows);
std::vector<std::string> build_warnings();  // of the program itself

}  // namespace tessera::bench
