// SPDX-License-Identifier: Apache-2.0
// What one run of an operation is told as: a table and values, or JSON.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <cstdio>
#include "tessera/cli/command.hpp"
#include "tessera/run/run.hpp"

namespace tessera::cli {

void print(std::FILE* to, const Operation& operation, const Arguments& arguments, const Outcome& outcome);
nlohmann::ordered_json json_of(const Command& command, const Operation& operation, const Arguments& arguments,
                               const Outcome& outcome);
nlohmann::ordered_json json_of(const Verdict& verdict);

}  // namespace tessera::cli
