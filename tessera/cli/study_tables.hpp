// SPDX-License-Identifier: Apache-2.0
// `tessera OPERATION … --study NAME`: tables that an operation makes of itself.
#pragma once
#include <string>
#include <vector>
#include "tessera/cli/command.hpp"
#include "tessera/run/study.hpp"

namespace tessera::cli {

// A study's results are its tables: throws Error where a result was to be verified or written.
void demand_tables_alone(bool check, const std::vector<std::string>& outputs);

// " [--study precision]" for usage; "" where the operation has none.
std::string studies_text(const Operation& operation);
int study(const Operation& operation, const std::string& name, const Arguments& arguments,
          const Request& request, const std::string& json, const Command& command);

}  // namespace tessera::cli
