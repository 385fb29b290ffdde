// SPDX-License-Identifier: Apache-2.0
// A trace as tables: the ladder's counters, one row for each rung; a rung's lines; its mistakes.
#pragma once
#include <string>
#include <vector>
#include "tessera/lab/trace_result.hpp"

namespace tessera::report {

std::string trace_table(const std::vector<lab::Traced>& rows);
std::string line_table(const lab::Traced& row);
std::string findings_text(const lab::Traced& row);        // "" when there are none
std::string notes(const std::vector<lab::Traced>& rows);  // what the numbers rest on

}  // namespace tessera::report
