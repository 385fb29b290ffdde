// SPDX-License-Identifier: Apache-2.0
// A product in one launch or in several: a few rows or columns beyond whole tiles would take a round of all
// multiprocessors; by themselves they are a product of few small tiles. Plain arithmetic.
#pragma once
#include <cstdint>
#include <functional>
#include "tile_plan.hpp"

namespace tessera::matmul {

// Of C: which rows and columns, and by which plan.
struct PlannedPart {
  std::int64_t row = 0, col = 0, rows = 0, cols = 0;
  TilePlan plan;
};

// The first part is the large one; then, if it does not reach that far, the columns beside it and the rows
// below both.
struct PlannedParts {
  static constexpr int most = 3;
  PlannedPart part[most];
  int count = 0;
  double microseconds = 0;  // what the model tells
};

enum class Cuts : int { model, never, wherever };

// The plan of a part of `rows` by `cols`; the large one, or one of the others.
using PartPlanner = std::function<TilePlan(std::int64_t rows, std::int64_t cols, bool is_large)>;

// m, n ≥ 1. Cuts are at the last multiple of so many rows and columns as the largest
// tile has, or of the smallest one's where C has fewer; never within a product that the model says is short.
PlannedParts plan_parts(std::int64_t m, std::int64_t n, Cuts cuts, const PartPlanner& plan);

}  // namespace tessera::matmul
