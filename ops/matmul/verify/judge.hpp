// SPDX-License-Identifier: Apache-2.0
// The randomised check's random signs, the bound of each row and group, and the choice of rows.
#pragma once
#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>
#include "ops/matmul/operation/matmul_operation.hpp"
#include "ops/matmul/verify/device_sums.hpp"
#include "tessera/core/array/random.hpp"

namespace tessera::matmul {

// Random signs x. Neighbouring columns form a group, and each group has its own vector, so that fewer
// rounding errors add up to hide a wrong element.
struct Signs {
  // `ends`: the columns at which a group ends and, but for the last, the next one begins.
  Signs(std::vector<std::int64_t> ends_of_groups, std::uint64_t seed)
      : groups(std::ssize(ends_of_groups)),
        ends(std::move(ends_of_groups)),
        values(static_cast<std::size_t>(ends.back())) {
    Random random(seed);
    for (double& sign : values) sign = (random.next() & 1) != 0 ? 1 : -1;
  }
  // A group costs as much as a column, so narrow matrices have few.
  static Signs in_even_groups(std::int64_t columns, std::int64_t max_groups, std::uint64_t seed) {
    std::vector<std::int64_t> ends(
        static_cast<std::size_t>(std::clamp<std::int64_t>(columns / 64, 1, max_groups)));
    for (std::int64_t g = 0; g < std::ssize(ends); ++g)
      ends[static_cast<std::size_t>(g)] = columns * (g + 1) / std::ssize(ends);
    return {std::move(ends), seed};
  }
  std::int64_t first(std::int64_t group) const {
    return group == 0 ? 0 : ends[static_cast<std::size_t>(group - 1)];
  }
  std::int64_t length(std::int64_t group) const { return first(group + 1) - first(group); }

  std::int64_t groups;
  std::vector<std::int64_t> ends;
  std::vector<double> values;
};

// The judge of a product, with what it needs of each group and row. Vectors are in host memory.
struct JudgedGroups {
  JudgedGroups(const Arguments& arguments, Data data, const Slack& slack, const Signs& signs);
  JudgedGroups(const JudgedGroups&) = delete;
  JudgedGroups(JudgedGroups&&) = default;

  Judge judge;
  std::vector<double> scaled_signs;  // times the scales of B's columns
  double largest_scale = 0;
  std::vector<GroupTerms> groups;
  std::vector<double> factors, biases;  // of rows; empty: 1, 0
};

// Rows beyond the bound and, because correct ones are far below it, those with the largest ratios. `seen`:
// bounds of rows become the errors above which a row's ratio is among these, twice their least ratio: the row
// has rounding errors, too.
std::vector<std::int64_t> rows_that_stand_out(const std::vector<double>& ratios, std::vector<double>* seen);

}  // namespace tessera::matmul
