// SPDX-License-Identifier: Apache-2.0
// Grids of ranks: every element of the result belongs to one of them, and none communicates less.
#include "tessera/dist/grid.hpp"
#include <gtest/gtest.h>
#include <numeric>
#include <vector>

namespace tessera::dist {
namespace {

TEST(Grid, PartsCoverTheWholeAndAreAlike) {
  for (const std::int64_t extent : {0, 1, 5, 17, 1000})
    for (const std::int64_t parts : {1, 2, 3, 7, 20}) {
      std::int64_t next = 0;
      for (std::int64_t i = 0; i < parts; ++i) {
        const Interval part = nth_part(extent, parts, i);
        ASSERT_EQ(part.first, next);
        ASSERT_GE(part.size(), extent / parts);
        ASSERT_LE(part.size(), (extent + parts - 1) / parts);
        next = part.last;
      }
      ASSERT_EQ(next, extent);
    }
}

TEST(Grid, SquareProductsHaveSquareGrids) {
  for (const int side : {1, 2, 3, 4, 8, 32}) {
    const Grid grid = best_grid({9600, 9600, 9600}, side * side);
    EXPECT_EQ(grid.rows, side);
    EXPECT_EQ(grid.cols, side);
  }
  const Grid eight = best_grid({9600, 9600, 9600}, 8);
  EXPECT_EQ(eight.rows, 2);
  EXPECT_EQ(eight.cols, 4);
}

// What travels, counted rank by rank, is what the formula says.
TEST(Grid, TheFormulaCountsWhatEveryRankLacks) {
  for (const ProductSize& size :
       {ProductSize{1000, 700, 300, 4, 4}, ProductSize{13, 17, 5, 1, 8}, ProductSize{7, 7, 0, 4, 4}})
    for (const Grid& grid : {Grid{1, 1}, Grid{2, 3}, Grid{3, 2}, Grid{1, 5}, Grid{6, 1}}) {
      double bytes = 0, most = 0;
      for (int rank = 0; rank < grid.ranks(); ++rank) {
        const auto m = nth_part(size.m, grid.rows, grid.row_of(rank)).size(),
                   n = nth_part(size.n, grid.cols, grid.col_of(rank)).size();
        const double before = bytes;
        const Panels left(size.k, 1, grid.cols), right(size.k, 1, grid.rows);
        for (std::int64_t panel = 0; panel < left.count(); ++panel) {
          const auto depth = left.range(panel).size();
          if (left.owner(panel) != grid.col_of(rank))
            bytes += static_cast<double>(m * depth * size.left_bytes);
          if (right.owner(panel) != grid.row_of(rank))
            bytes += static_cast<double>(n * depth * size.right_bytes);
        }
        most = std::max(most, bytes - before);
      }
      // Where the owners' shares are alike.
      const double wanted = size.k % 30 == 0 ? received_by_one(size, grid) : most;
      EXPECT_NEAR(most, wanted, most * 1e-12);
      EXPECT_EQ(bytes, received_bytes(size, grid)) << grid.rows << " × " << grid.cols;
    }
}

TEST(Grid, NoAdmissibleGridCommunicatesLess) {
  for (const ProductSize& size :
       {ProductSize{4096, 4096, 4096, 4, 4}, ProductSize{100000, 64, 512, 8, 8},
        ProductSize{64, 100000, 512, 8, 8}, ProductSize{3, 50, 9, 4, 4}, ProductSize{1, 1, 10, 4, 4}})
    for (int ranks = 1; ranks <= 40; ++ranks) {
      const Grid best = best_grid(size, ranks);
      ASSERT_LE(best.ranks(), ranks);
      ASSERT_LE(best.rows, size.m);
      ASSERT_LE(best.cols, size.n);
      double smallest = 1e300;
      for (int p = 1; p <= std::min<std::int64_t>(ranks, size.m); ++p)
        for (int q = 1; q <= std::min<std::int64_t>(ranks / p, size.n); ++q)
          smallest = std::min(smallest, largest_block(size, {p, q}));
      ASSERT_LE(largest_block(size, best), smallest * 9 / 8);
      for (int p = 1; p <= std::min<std::int64_t>(ranks, size.m); ++p)
        for (int q = 1; q <= std::min<std::int64_t>(ranks / p, size.n); ++q)
          ASSERT_TRUE(largest_block(size, {p, q}) > smallest * 9 / 8 ||
                      received_by_one(size, best) <= received_by_one(size, {p, q}))
              << ranks << ": " << p << " × " << q;
    }
}

TEST(Grid, LongProductsAreCutAlongTheirLength) {
  EXPECT_EQ(best_grid({100000, 100, 100}, 6).rows, 6);
  EXPECT_EQ(best_grid({100, 100000, 100}, 6).cols, 6);
}

TEST(Grid, RanksThatWouldHaveNothingAreLeftOut) {
  EXPECT_EQ(best_grid({1, 1, 100}, 4).ranks(), 1);
  EXPECT_EQ(best_grid({2, 1, 100}, 4).ranks(), 2);
  EXPECT_EQ(best_grid({3, 1, 100}, 8).rows, 3);
  EXPECT_EQ(best_grid({0, 5, 100}, 4).rows, 1);
  EXPECT_EQ(best_grid({0, 0, 0}, 4).rows, 1);
  EXPECT_EQ(best_grid({9600, 9600, 9600}, 7).ranks(), 7);
  EXPECT_EQ(best_grid({9600, 9600, 9600}, 11).ranks(), 10);
}

// A dearer element on one side turns the grid.
TEST(Grid, BytesAndNotElementsCount) {
  const Grid cheap_left = best_grid({9600, 9600, 9600, 1, 8}, 8);
  EXPECT_EQ(cheap_left.rows, 1);
  EXPECT_EQ(cheap_left.cols, 8);
}

TEST(Panels, EveryPieceBelongsToOne) {
  for (const std::int64_t extent : {0, 1, 63, 64, 65, 1000})
    for (const int owners : {1, 2, 3, 7}) {
      const Panels panels(extent, 64, owners);
      ASSERT_GE(panels.count(), 1);
      std::int64_t next = 0;
      for (std::int64_t panel = 0; panel < panels.count(); ++panel) {
        ASSERT_EQ(panels.range(panel).first, next);
        next = panels.range(panel).last;
        const Interval owned = panels.owned(panels.owner(panel));
        ASSERT_TRUE(owned.first <= panel && panel < owned.last);
      }
      ASSERT_EQ(next, extent);
    }
}

}  // namespace
}  // namespace tessera::dist
