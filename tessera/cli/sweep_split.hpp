// SPDX-License-Identifier: Apache-2.0
// `tessera sweep … --split`: a result's rows divided among several devices in one way after another.
#pragma once
#include <string>
#include "tessera/cli/bench_options.hpp"
#include "tessera/cli/command.hpp"

namespace tessera::cli {

// `memory`: as --memory of a call; empty: what is free.
int sweep_splits(const Operation& operation, const SearchOptions& options, const std::string& splits,
                 const std::string& memory, const Command& command);

}  // namespace tessera::cli
