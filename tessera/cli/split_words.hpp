// SPDX-License-Identifier: Apache-2.0
// What a sweep of splits says at its end.
#pragma once
#include <string>
#include <utility>
#include <vector>

namespace tessera::cli {

// "the fastest: auto; the best shares, 1:1, took 1.020 × that; dynamic 1.100 ×\n". Each split, and the
// seconds that it took; of several shares only the best are named beside what was fastest. "" where fewer
// than two were measured.
std::string fastest_split(const std::vector<std::pair<std::string, double>>& measured);

}  // namespace tessera::cli
