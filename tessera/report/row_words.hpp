// SPDX-License-Identifier: Apache-2.0
// What several tables say of a measured row in words.
#pragma once
#include <string>
#include <vector>
#include "tessera/lab/result.hpp"

namespace tessera::report {

std::string device_of(const lab::Row& row);  // "simt (executor wall time)"
std::string name_of(const lab::Row& row);    // "gpu/shared_tiles"
std::string why_not(const lab::Row& row);    // of a row without samples
// Why rows have no samples, each reason once, with those that it holds for.
std::string reasons_of(const std::vector<lab::Row>& rows);
std::string findings_of(const std::vector<lab::Row>& rows);       // what is wrong in wrong results
std::string executor_note_of(const std::vector<lab::Row>& rows);  // "" where none ran on the executor

}  // namespace tessera::report
