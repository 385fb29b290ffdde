// SPDX-License-Identifier: Apache-2.0
// What several tables say of a measured row in words.
#pragma once
#include <string>
#include <vector>
#include "tessera/bench/result.hpp"

namespace tessera::report {

std::string device_of(const bench::Row& row);  // "simt (executor wall time)"
std::string name_of(const bench::Row& row);    // "gpu/shared_tiles"
std::string why_not(const bench::Row& row);    // of a row without samples
// Why rows have no samples, each reason once, with those that it holds for.
std::string reasons_of(const std::vector<bench::Row>& rows);
std::string findings_of(const std::vector<bench::Row>& rows);       // what is wrong in wrong results
std::string executor_note_of(const std::vector<bench::Row>& rows);  // "" where none ran on the executor

}  // namespace tessera::report
