// SPDX-License-Identifier: Apache-2.0
// Measured rows as the tables that `bench` prints.
#pragma once
#include <string>
#include <vector>
#include "tessera/bench/result.hpp"

namespace tessera::report {

// One line per choice, for the rows of one problem; below it what could not be measured and why.
std::string ladder_table(const std::vector<bench::Row>& rows);

// × serial of each choice at each size, and its mean over the last two sizes; empty where no serial
// rung was measured.
std::string mean_table(const std::vector<std::vector<bench::Row>>& sizes);

std::string to_string(const Dims& dims, const std::vector<std::string>& order);  // "m = 4, n = 4"

}  // namespace tessera::report
