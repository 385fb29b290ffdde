// SPDX-License-Identifier: Apache-2.0
// How well one order fits another.
#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace tessera::tune {

// Of as many pairs as both have, equal values sharing their rank. Nothing below 3 pairs, or where one
// of the two is the same everywhere.
std::optional<double> spearman(const std::vector<double>& a, const std::vector<double>& b);
std::optional<double> kendall(const std::vector<double>& a, const std::vector<double>& b);  // tau-b

struct Fit {
  std::optional<double> spearman, kendall;
  std::size_t count = 0;
};
Fit fit_of(const std::vector<double>& predicted, const std::vector<double>& measured);
std::string describe(const Fit& fit);  // "Spearman 0.71, Kendall 0.55, n = 37"

}  // namespace tessera::tune
