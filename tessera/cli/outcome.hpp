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
// What is no array: outputs of a single value, then what a run tells besides.
void print_values(std::FILE* to, const Operation& operation, const Arguments& arguments,
                  const Values& values);
void add_values(nlohmann::ordered_json& to, const Operation& operation, const Arguments& arguments,
                const Values& values);

}  // namespace tessera::cli
