// SPDX-License-Identifier: Apache-2.0
// What a program may ask of an integral.
// Installed: for programs.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>
#include "sums.hpp"

namespace tessera::integration {

struct Options {
  std::optional<double> relative = {};  // the error allowed, as a share; 1e-10, or 1e-6 of several variables
  double absolute = 0;                  // the error allowed in any case
  std::optional<std::int64_t> most_evaluations = {};  // 4e6, or 1e8
  std::optional<double> most_seconds = {};            // 10, or 20
  std::string rule = "auto";                          // as the command has them
  std::vector<double> points = {};                    // where the integrand is known to break
  std::int64_t strips = 0;                            // > 0: the trapezoid sum of so many, not a rule
  Sum sum = Sum::pairwise;                            // how their heights are added
  int threads = 0;                                    // 0: all that this machine has
};

}  // namespace tessera::integration
