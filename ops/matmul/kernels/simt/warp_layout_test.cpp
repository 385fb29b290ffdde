// SPDX-License-Identifier: Apache-2.0
// Every element of C has exactly one thread of rung 11, and it is the one that is named as its owner.
#include "ops/matmul/kernels/simt/warp_plan.hpp"
#include <gtest/gtest.h>
#include <vector>

namespace tessera::matmul {
namespace {

bool same(const Index3& a, const Index3& b) { return a.x == b.x && a.y == b.y && a.z == b.z; }

template <WarpTilesConfig config, int vector>
void expect_one_owner_each(std::int64_t m, std::int64_t n) {
  SCOPED_TRACE(std::to_string(m) + " × " + std::to_string(n) + ", tile " + std::to_string(config.m) + " × " +
               std::to_string(config.n) + ", " + std::to_string(vector));
  using Layout = WarpLayout<config, vector>;
  std::vector<int> writers(static_cast<std::size_t>(m * n));
  const TileOrder order = config.order(m, n);
  std::int64_t strangers = 0;
  for (int block = 0; block < order.count(); ++block)
    for (int thread = 0; thread < config.threads(); ++thread) {
      const TileOrder::Tile tile = order.at(block);
      const std::int64_t row = std::int64_t{tile.row} * config.m, col = std::int64_t{tile.col} * config.n;
      const typename Layout::Place place(thread);
      for (int i = 0; i < Layout::thread_m; ++i)
        for (int j = 0; j < Layout::thread_n; ++j) {
          const std::int64_t at_row = row + place.m + Layout::row_of(i),
                             at_col = col + place.n + Layout::col_of(j);
          if (at_row >= m || at_col >= n) continue;
          ++writers[static_cast<std::size_t>(at_row * n + at_col)];
          const Owner owner = Layout::owner(m, n, at_row, at_col);
          strangers += !same(owner.block, {block, 0, 0}) || !same(owner.thread, {thread, 0, 0});
        }
    }
  EXPECT_EQ(strangers, 0);
  for (const int count : writers) ASSERT_EQ(count, 1);
}

template <WarpTilesConfig config, int vector>
void expect_one_owner_each() {
  expect_one_owner_each<config, vector>(1, 1);
  expect_one_owner_each<config, vector>(130, 257);
  expect_one_owner_each<config, vector>(300, 130);
  expect_one_owner_each<config, vector>(2048 + 3 * config.m - 1, config.n + 5);  // a patch, and part of one
}

TEST(WarpLayout, EveryElementHasOneOwner) {
  expect_one_owner_each<warp_large, 4>();
  expect_one_owner_each<warp_middle, 4>();
  expect_one_owner_each<warp_small, 4>();
  expect_one_owner_each<warp_narrow, 4>();
  expect_one_owner_each<WarpTilesConfig{.warp_n = 32}, 2>();
}

}  // namespace
}  // namespace tessera::matmul
