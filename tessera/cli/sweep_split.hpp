// SPDX-License-Identifier: Apache-2.0
// `tessera sweep … --split`: a result's rows divided among several devices in one way after another.
#pragma once
#include <string>
#include <utility>
#include <vector>
#include "tessera/cli/bench_options.hpp"
#include "tessera/cli/command.hpp"

namespace tessera::cli {

// `memory`: as --memory of a call; empty: what is free.
int sweep_splits(const Operation& operation, const SearchOptions& options, const std::string& splits,
                 const std::string& memory, const Command& command);

// What a sweep says at its end: "the fastest: auto; the best shares, 1:1, took 1.020 × that; dynamic 1.100
// ×\n". Of each split the seconds; of several shares only the best are named. "" where fewer than two were
// measured.
std::string fastest_split(const std::vector<std::pair<std::string, double>>& measured);

}  // namespace tessera::cli
