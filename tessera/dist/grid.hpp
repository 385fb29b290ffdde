// SPDX-License-Identifier: Apache-2.0
// How ranks share a product: a grid of p × q ranks over the rows and columns of the result, each with one
// block of it, and the panels of the summed dimension that every rank brings along. Pure arithmetic.
#pragma once
#include <cstdint>
#include "tessera/core/division.hpp"

namespace tessera::dist {

// Part `index` of `parts` of [0, extent): their sizes differ by at most 1; the larger ones come first.
Interval nth_part(std::int64_t extent, std::int64_t parts, std::int64_t index);

// C[m,n] = Σ over k of A[m,k]·B[k,n].
struct ProductSize {
  std::int64_t m = 0, n = 0, k = 0;
  std::int64_t left_bytes = 1, right_bytes = 1;  // of an element of A and of B
};

// Ranks 0 … p·q - 1, row after row; those beyond have nothing to do.
struct Grid {
  int rows = 1, cols = 1;  // p, q

  int ranks() const { return rows * cols; }
  bool has(int rank) const { return rank < ranks(); }
  int row_of(int rank) const { return rank / cols; }
  int col_of(int rank) const { return rank % cols; }
};

// What all ranks together receive: every element of A reaches the q - 1 other ranks of its row of the grid,
// every element of B the p - 1 others of its column: k·((q-1)·m·left_bytes + (p-1)·n·right_bytes).
double received_bytes(const ProductSize& size, const Grid& grid);

// What the rank with the largest block receives, which sets the pace of communication:
// k·(⌈m/p⌉·left_bytes·(q-1)/q + ⌈n/q⌉·right_bytes·(p-1)/p).
double received_by_one(const ProductSize& size, const Grid& grid);

// The elements of that block, ⌈m/p⌉·⌈n/q⌉, which set the pace of computing.
double largest_block(const ProductSize& size, const Grid& grid);

// The grid of at most `ranks` ranks, p ≤ m and q ≤ n (1 where that is 0), with the least received_by_one
// among those whose largest block is at most 9/8 of the smallest largest block of any; of equals the one of
// the smaller block, then of fewer rows. So 7 ranks are 1 × 7 or 7 × 1, but 11 are 2 × 5 for a square
// product, where one rank then has nothing to do.
Grid best_grid(const ProductSize& size, int ranks);

// The summed dimension cut into pieces of `depth`; each belongs to one of `owners`, who have neighbouring
// ones.
class Panels {
 public:
  Panels(std::int64_t extent, std::int64_t depth, int owners);

  std::int64_t count() const { return count_; }  // at least 1: of an empty sum, one that is empty
  Interval range(std::int64_t panel) const;
  int owner(std::int64_t panel) const;
  Interval owned(int owner) const;  // panels

 private:
  std::int64_t extent_, depth_, count_;
  int owners_;
};

}  // namespace tessera::dist
