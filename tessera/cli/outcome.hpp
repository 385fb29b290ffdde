// SPDX-License-Identifier: Apache-2.0
// Prints what one run of an operation gave: a table and values, or JSON.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <cstdio>
#include "tessera/cli/command.hpp"
#include "tessera/run/run.hpp"

namespace tessera::cli {

// What files took besides the computation; 0: there were none.
struct FileTimes {
  double read = 0, write = 0;
};

void print(std::FILE* to, const Operation& operation, const Arguments& arguments, const Outcome& outcome,
           const FileTimes& files);
nlohmann::ordered_json json_of(const Command& command, const Operation& operation, const Arguments& arguments,
                               const Outcome& outcome, const FileTimes& files);
nlohmann::ordered_json json_of(const Verdict& verdict);
// What is no array: outputs of a single value, then what a run reports besides. Where the error is not finite
// there is no value: only the reason is printed.
void print_values(std::FILE* to, const Operation& operation, const Arguments& arguments,
                  const Values& values);
void add_values(nlohmann::ordered_json& to, const Operation& operation, const Arguments& arguments,
                const Values& values);

}  // namespace tessera::cli
