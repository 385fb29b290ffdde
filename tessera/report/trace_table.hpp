// SPDX-License-Identifier: Apache-2.0
// A trace as tables: the ladder's counters, one row for each rung; a rung's lines; its mistakes.
#pragma once
#include <string>
#include <vector>
#include "tessera/bench/trace_result.hpp"

namespace tessera::report {

std::string trace_table(const std::vector<bench::Traced>& rows);
std::string line_table(const bench::Traced& row);
std::string findings_text(const bench::Traced& row);        // "" when there are none
std::string notes(const std::vector<bench::Traced>& rows);  // what the numbers rest on

}  // namespace tessera::report
