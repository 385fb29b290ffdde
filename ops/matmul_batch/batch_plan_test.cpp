// SPDX-License-Identifier: Apache-2.0
// Every tile of every entry is one unit of work, whatever the batch; the tile chosen is the model's best.
#include "batch_plan.hpp"
#include <gtest/gtest.h>
#include <random>
#include <set>

namespace tessera::matmul_batch {
namespace {

using matmul::TileCost;

constexpr TileCosts costs{matmul::tile_costs};

// Returns the entry of each unit, as in the table that the kernel reads.
std::vector<std::int32_t> entry_of_each_unit(const GroupOrder& order) {
  std::vector<std::int32_t> out;
  for (std::size_t i = 0; i < order.entries.size(); ++i) {
    const std::int64_t end = i + 1 < order.first.size() ? order.first[i + 1] : order.units;
    for (std::int64_t unit = order.first[i]; unit < end; ++unit) out.push_back(static_cast<std::int32_t>(i));
  }
  return out;
}

// The workspace's size is fixed before a tile is chosen.
TEST(BatchPlan, NoTileHasMoreUnitsThanAreReserved) {
  for (const std::int64_t m : {1, 63, 64, 65, 128, 129, 257, 1000})
    for (const std::int64_t n : {1, 64, 65, 129, 256, 511, 4097}) {
      for (const TileCosts all : {costs, TileCosts(matmul::promoted_costs)})
        for (const TileCost& cost : all)
          EXPECT_LE(order_of(cost, m, n).count(), max_units_of(m, n)) << m << ' ' << n;
      EXPECT_EQ(max_units_of(m, n), ((m + 63) / 64) * ((n + 63) / 64)) << m << ' ' << n;
    }
}

TEST(BatchPlan, VisitsEveryTileOfAGroupOnce) {
  std::mt19937 random(1);
  for (int round = 0; round < 300; ++round) {
    std::vector<EntrySize> sizes(random() % 12);
    for (EntrySize& size : sizes)
      size = {static_cast<std::int64_t>(random() % 900), static_cast<std::int64_t>(random() % 700),
              static_cast<std::int64_t>(random() % 20)};
    const TileCost& cost = costs[random() % costs.size()];
    const GroupOrder order = order_group(cost, sizes);
    const auto entry_of = entry_of_each_unit(order);
    ASSERT_EQ(static_cast<std::int64_t>(entry_of.size()), order.units);
    std::set<std::array<std::int64_t, 3>> seen;
    std::int64_t wanted = 0;
    for (const EntrySize& size : sizes) wanted += order_of(cost, size.m, size.n).count();
    for (std::int32_t unit = 0; unit < order.units; ++unit) {
      const auto at = static_cast<std::size_t>(entry_of[static_cast<std::size_t>(unit)]);
      const std::int32_t entry = order.entries[at];
      const EntrySize& size = sizes[static_cast<std::size_t>(entry)];
      const TileOrder::Tile tile = order_of(cost, size.m, size.n).at(unit - order.first[at]);
      // No tile lies beyond the entry.
      ASSERT_LT(std::int64_t{tile.row} * cost.rows * cost.cluster_rows, size.m);
      ASSERT_LT(std::int64_t{tile.col} * cost.cols * cost.cluster_cols, size.n);
      ASSERT_EQ(tile.split, 0);
      seen.insert({entry, tile.row, tile.col});
    }
    ASSERT_EQ(static_cast<std::int64_t>(seen.size()), wanted);
    ASSERT_EQ(order.units, wanted);
  }
}

TEST(BatchPlan, LongSumsOfAGroupComeFirst) {
  const std::vector<EntrySize> sizes{{64, 64, 1}, {64, 64, 9}, {0, 64, 30}, {64, 64, 4}, {64, 64, 9}};
  const GroupOrder order = order_group(costs[3], sizes);
  EXPECT_EQ(order.entries, (std::vector<std::int32_t>{1, 4, 3, 0}));
  EXPECT_EQ(order.first, (std::vector<std::int32_t>{0, 1, 2, 3}));
}

TEST(BatchPlan, EntriesOfEqualSizeAreAdjacent) {
  for (const std::int32_t each : {1, 2, 7}) {
    const EqualEntries entries{each};
    for (std::int32_t unit = 0; unit < 50; ++unit) {
      const auto at = entries.at(unit);
      EXPECT_EQ(at.entry * each + at.within, unit);
      EXPECT_TRUE(at.within >= 0 && at.within < each);
    }
  }
}

TEST(BatchPlan, SmallEntriesTakeSmallTilesAndLargeOnesLarge) {
  constexpr int multiprocessors = 132;
  constexpr unsigned all = 0b1101;
  const EntrySize small{64, 64, 2}, large{4096, 4096, 64};
  EXPECT_EQ(choose_tile(costs, {&small, 1}, 1000, multiprocessors, all), 3);
  EXPECT_EQ(choose_tile(costs, {&large, 1}, 4, multiprocessors, all), 0);
  EXPECT_EQ(choose_tile(costs, {&small, 1}, 1000, multiprocessors, 0b0100), 2);
  EXPECT_EQ(choose_tile(costs, {&small, 1}, 1000, multiprocessors, all, 1), 0);
  // A requested tile that does not exist is ignored.
  EXPECT_EQ(choose_tile(costs, {&small, 1}, 1000, multiprocessors, all, 2), 3);
  // One long entry among many short ones determines the tile, because its units end last.
  std::vector<EntrySize> mixed(8, small);
  mixed.push_back({512, 512, 4000});
  EXPECT_NE(choose_tile(costs, mixed, 1, multiprocessors, all), 0);
  EXPECT_GE(choose_tile(costs, {}, 1, multiprocessors, all), 0);
}

}  // namespace
}  // namespace tessera::matmul_batch
