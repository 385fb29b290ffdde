// SPDX-License-Identifier: Apache-2.0
// Measured rows as a table of two or more parameters: one across, the others down.
#pragma once
#include <string>
#include <vector>
#include "tessera/bench/result.hpp"

namespace tessera::report {

// Names are parameters of the tuning, "variant" or "device". What else the rows differ in makes a table of
// its own for each combination. Cells hold GFLOP/s, or GB/s or the time where the operation counts none, or
// where `times` are asked for; the fastest is marked, and what has no value says n/a with the number of a
// note.
std::string two_way_table(const std::vector<bench::Row>& rows, const std::vector<std::string>& down,
                          const std::string& across, bool times = false);

// Everything that the rows differ in, but for `across`: what to put down for one table of all rows.
std::vector<std::string> differing(const std::vector<bench::Row>& rows, const std::string& across);

}  // namespace tessera::report
