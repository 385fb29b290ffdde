// SPDX-License-Identifier: Apache-2.0
// Finds the verb and passes it the remaining words; returns an exit code. Each verb has a file.
#pragma once
#include <string>
#include <vector>
#include "tessera/core/operation/operation.hpp"

namespace tessera::cli {

// The exit codes, which --help prints.
namespace exit_code {
inline constexpr int passed = 0, wrong = 1, user = 2, regression = 3, memory = 4, no_device = 5, internal = 6,
                     short_of_tolerance = 7, interrupted = 130;
}

// The words of a verb, and the whole command as it was typed.
struct Command {
  std::vector<std::string> words, argv;
};

int command(const std::vector<std::string>& argv);
int exit_code_of(Error::Kind kind);

int list(const Command& command);
int devices(const Command& command);
int verify(const Command& command);
int check(const Command& command);
int bench(const Command& command);
int sweep(const Command& command);
int tune(const Command& command);
int report(const Command& command);
int code(const Command& command);
int compare(const Command& command);
int trace(const Command& command);
int run_own_files(const Command& command);
int trace_own_files(const Command& command);
bool names_own_files(const Command& command);  // CUDA files, not an operation
int operate(const Operation& operation, const Command& command);

extern const char* const exit_codes;  // the table that --help prints

}  // namespace tessera::cli
