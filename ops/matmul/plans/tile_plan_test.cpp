// SPDX-License-Identifier: Apache-2.0
// Orders of tiles, plans chosen by the cost model, and products in several launches.
#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <random>
#include <set>
#include <tuple>
#include "ops/matmul/plans/tile_plan.hpp"

namespace tessera::matmul {
namespace {

TEST(TileOrder, CoversEveryTileAndSplitOnce) {
  std::mt19937 random(1);
  for (int i = 0; i < 100; ++i) {
    TileOrder order;
    order.rows = static_cast<std::int32_t>(random() % 40 + 1);
    order.cols = static_cast<std::int32_t>(random() % 40 + 1);
    order.raster_rows = static_cast<std::int32_t>(random() % 20 + 1);
    order.splits = static_cast<std::int32_t>(random() % 4 + 1);
    std::set<std::tuple<int, int, int>> met;
    for (std::int32_t unit = 0; unit < order.count(); ++unit) {
      const TileOrder::Tile tile = order.at(unit);
      ASSERT_TRUE(tile.row >= 0 && tile.row < order.rows && tile.col >= 0 && tile.col < order.cols &&
                  tile.split >= 0 && tile.split < order.splits);
      ASSERT_TRUE(met.emplace(tile.row, tile.col, tile.split).second);
    }
    ASSERT_EQ(static_cast<std::int64_t>(met.size()), std::int64_t{order.rows} * order.cols * order.splits);
  }
}

// Quotients of random numbers, after those next to multiples.
TEST(FastDivmod, EqualsIntegerDivision) {
  std::mt19937 random(6);
  const auto number = [&] { return static_cast<std::int32_t>(random() >> (1 + random() % 31)); };
  for (int i = 0; i < 20000; ++i) {
    const std::int32_t by = std::max(number(), 1), multiple = number() / by * by;
    const FastDivmod divmod(by);
    for (const std::int32_t n : {number(), multiple, std::max(multiple - 1, 0), 2147483647, 0})
      ASSERT_EQ(divmod.quotient(n), n / by) << n << " / " << by;
  }
}

TEST(TileScheduler, FollowsTheTileOrder) {
  std::mt19937 random(7);
  for (int i = 0; i < 300; ++i) {
    const auto below = [&](std::uint32_t most) { return static_cast<std::int32_t>(random() % most + 1); };
    const TileOrder order{.rows = below(1 << random() % 14),
                          .cols = below(1 << random() % 12),
                          .raster_rows = below(80),
                          .splits = below(16)};
    const TileScheduler walk(order);
    for (int j = 0; j < 100; ++j) {
      const auto unit = static_cast<std::int32_t>(random() % static_cast<std::uint64_t>(order.count()));
      const TileOrder::Tile here = walk.at(unit), wanted = order.at(unit);
      ASSERT_TRUE(here.row == wanted.row && here.col == wanted.col && here.split == wanted.split) << unit;
    }
  }
}

TEST(TileOrder, NeighboursHaveCommonRowsAndColumns) {
  const TileOrder order{.rows = 32, .cols = 32, .raster_rows = 8, .splits = 1};
  std::set<int> rows, cols;
  for (std::int32_t unit = 0; unit < 64; ++unit) {
    rows.insert(order.at(unit).row);
    cols.insert(order.at(unit).col);
  }
  EXPECT_EQ(rows.size(), 8u);
  EXPECT_EQ(cols.size(), 8u);
}

TEST(TilePlan, CoversAnyShapeAndItsSum) {
  std::mt19937 random(2);
  const auto extent = [&] {
    return static_cast<std::int64_t>(std::exp2(static_cast<double>(random() % 1500) / 100));
  };
  const auto is_side = [](int blocks) { return blocks == 1 || blocks == 2 || blocks == 4; };
  for (int i = 0; i < 1000; ++i) {
    const std::int64_t m = extent(), n = extent(), k = random() % 20 == 0 ? 0 : extent();
    const TileCosts costs = random() % 2 == 0 ? TileCosts(tile_costs) : TileCosts(promoted_costs);
    const auto tiles = static_cast<unsigned>(random() % ((std::uint64_t{1} << costs.size()) - 1) + 1);
    const TileOptions options{
        .tile = static_cast<int>(random() % (costs.size() + 1)),
        .splits = static_cast<int>(random() % 17),
        .group = 0,
        .shape = {static_cast<int>(random() % 4 * 64), static_cast<int>(random() % 13 * 16),
                  static_cast<int>(random() % 4), static_cast<int>(random() % 5)}};
    const TilePlan plan =
        plan_tiles(costs, m, n, k, 64, 132, tiles, random() % 2 == 0 ? options : TileOptions{});
    ASSERT_TRUE(tiles >> plan.tile & 1) << m << " " << n << " " << k;
    const TileCost& cost = costs[static_cast<std::size_t>(plan.tile)];
    const TileShape shape = plan.shape;
    if (cost.runtime_shape)
      ASSERT_TRUE(shape.rows > 0 && shape.rows <= cost.rows && shape.rows % rows_granularity == 0 &&
                  shape.cols > 0 && shape.cols <= cost.cols && shape.cols % cols_granularity == 0 &&
                  shape.rows + shape.cols <= max_rows_plus_cols && is_side(shape.cluster_rows) &&
                  is_side(shape.cluster_cols) && shape.cluster_size() <= max_cluster_blocks &&
                  shape.rows / shape.cluster_cols % 8 == 0 && shape.cols / shape.cluster_rows % 8 == 0);
    else
      ASSERT_TRUE(shape.rows == cost.rows && shape.cols == cost.cols &&
                  shape.cluster_rows == cost.cluster_rows && shape.cluster_cols == cost.cluster_cols);
    const std::int64_t height = std::int64_t{shape.rows} * shape.cluster_rows,
                       width = std::int64_t{shape.cols} * shape.cluster_cols;
    ASSERT_TRUE(plan.order.rows * height >= m && (plan.order.rows - 1) * height < m);
    ASSERT_TRUE(plan.order.cols * width >= n && (plan.order.cols - 1) * width < n);
    // Splits are not empty, and together cover the sum.
    ASSERT_EQ(plan.k_tile_count, (k + 63) / 64);
    const std::int32_t accumulators = plan.order.splits * plan.cluster_splits;
    ASSERT_TRUE(cost.cluster_split_k ? plan.order.splits == 1 && plan.cluster_splits <= max_cluster_splits
                                     : plan.cluster_splits == 1);
    ASSERT_GE(std::int64_t{plan.k_tiles_per_split} * accumulators, plan.k_tile_count);
    ASSERT_TRUE(accumulators == 1 ||
                std::int64_t{plan.k_tiles_per_split} * (accumulators - 1) < plan.k_tile_count);
    if (plan.order.splits > 1) {
      ASSERT_LE(plan.blocks * plan.shape.rows * plan.shape.cols * 4, max_split_bytes);
      ASSERT_LE(plan.blocks, max_split_tiles);
    }
  }
}

TEST(TilePlan, KnownShapes) {
  const auto tile_of = [](std::int64_t m, std::int64_t n, std::int64_t k) {
    return plan_tiles(tile_costs, m, n, k, 64, 132, 0b1111111).tile;
  };
  EXPECT_EQ(tile_of(8192, 8192, 8192), 0);  // 128 × 256
  EXPECT_EQ(tile_of(4096, 4096, 4096), 0);
  EXPECT_EQ(tile_of(2048, 2048, 2048), 5);  // without a cluster
  EXPECT_EQ(tile_of(8192, 8192, 256), 5);
  EXPECT_EQ(tile_of(1024, 1024, 1024), 6);  // 64 × 128: 128 tiles for 132 multiprocessors
  EXPECT_EQ(tile_of(512, 512, 512), 3);     // 64 × 64
  EXPECT_EQ(tile_of(64, 7168, 2112), 3);
  // Few rows: one wave of tiles, or two full ones; no cluster, whose multicast of A would be mostly of rows
  // beyond C.
  const TilePlan few = plan_tiles(tile_costs, 16, 28672, 8192, 64, 132, 0b1111111);
  EXPECT_EQ(few.shape.cols, 112);
  EXPECT_EQ(few.order.count(), 256);
  for (const std::int64_t n : {8960, 9216, 11008, 12800, 13824, 18944})
    EXPECT_EQ(plan_tiles(tile_costs, 16, n, 8192, 64, 132, 0b1111111).shape.cluster_size(), 1) << n;
  const TilePlan deep = plan_tiles(tile_costs, 1024, 1024, 16384, 64, 132, 0b1111);
  EXPECT_GT(deep.order.splits * deep.cluster_splits, 1);
  EXPECT_EQ(plan_tiles(tile_costs, 8192, 8192, 8192, 64, 132, 0b1111).order.splits, 1);
  // 2048 tiles, two in a cluster, on 66 clusters: 16 waves.
  const TilePlan large = plan_tiles(tile_costs, 8192, 8192, 512, 64, 132, 0b0001);
  EXPECT_EQ(large.order.count(), 1024);
  const double hidden = tile_costs[0].overlapped_us, around = tile_costs[0].fixed_us + 0.741;  // of a pair
  EXPECT_NEAR(large.microseconds,
              16 * (8 * tile_costs[0].k_tile_us + tile_costs[0].tile_us - hidden) + hidden + around, 1e-9);
}

// If rows are not aligned to 128 bytes, larger clusters win, because each block loads less.
TEST(TilePlan, CountsTheWorkForRowsThatAreNotAligned) {
  const auto plan = [](std::int64_t side, Alignment alignment) {
    return plan_tiles(tile_costs, side, side, side, 64, 132, 0b1111111, {}, 1, alignment);
  };
  const Alignment to_16{.a = 16, .b = 16};
  EXPECT_LT(plan(3072, {}).shape.cluster_size(), plan(3080, to_16).shape.cluster_size());
  // Bound by the L2: 65 k tiles in 8 waves of 128 × 128, or in 16 of 128 × 64.
  const auto us = [](int tile, Alignment alignment) {
    return plan_tiles(tile_costs, 4096, 4096, 4104, 64, 132, 1u << tile, {}, 1, alignment).microseconds;
  };
  const auto wanted = [](int tile, int waves, double rows) {
    return waves * (65 * 132.0 * 128 * rows / 12.4e6 + tile_costs[tile].tile_us) + tile_costs[tile].fixed_us;
  };
  for (const auto& [bytes, work] : {std::pair{64, 1.21}, {32, 1.43}, {16, 2.33}}) {
    EXPECT_NEAR(us(1, {.a = bytes, .b = bytes}), wanted(1, 8, 256 * work), 1e-6);
    EXPECT_NEAR(us(2, {.a = bytes}), wanted(2, 16, 128 * work + 64), 1e-6);
    EXPECT_NEAR(us(2, {.b = bytes}), wanted(2, 16, 128 + 64 * work), 1e-6);
  }
  std::mt19937 random(6);
  for (int i = 0; i < 300; ++i) {
    const auto side = static_cast<std::int64_t>(random() % 6000 + 1);
    double last = plan(side, {}).microseconds;
    for (const Alignment& next :
         {Alignment{.a = 64}, Alignment{64, 64}, Alignment{32, 64}, Alignment{16, 32}, to_16}) {
      const double longer = plan(side, next).microseconds;
      ASSERT_TRUE(last <= longer && longer <= 2.24 / 1.38 * last) << side;
      last = longer;
    }
  }
}

TEST(TilePlan, HonoursRequestedOptionsWherePossible) {
  TileCost whole = tile_costs[6];
  whole.allows_split_k = false;
  const TileCosts alone(&whole, 1);
  EXPECT_EQ(plan_tiles(alone, 64, 128, 65536, 64, 132, 1).order.splits,
            1);  // the model never splits with it
  EXPECT_EQ(plan_tiles(alone, 64, 128, 65536, 64, 132, 1, {.splits = 4}).order.splits, 4);
  EXPECT_EQ(plan_tiles(tile_costs, 4096, 4096, 4096, 64, 132, 0b1111, {.tile = 3}).tile, 2);
  EXPECT_EQ(plan_tiles(tile_costs, 4096, 4096, 4096, 64, 132, 0b0101, {.tile = 2}).tile,
            0);  // no such tile: the model's choice
  EXPECT_EQ(plan_tiles(tile_costs, 256, 256, 4096, 64, 132, 0b1111, {.tile = 4, .splits = 4}).order.splits,
            4);
  EXPECT_EQ(plan_tiles(tile_costs, 256, 256, 4096, 64, 132, 0b1111, {.tile = 3, .splits = 4}).cluster_splits,
            4);
  EXPECT_EQ(
      plan_tiles(tile_costs, 256, 256, 16384, 64, 132, 0b1111, {.tile = 3, .splits = 16}).cluster_splits,
      max_cluster_splits);
  EXPECT_EQ(
      plan_tiles(tile_costs, 16384, 16384, 4096, 64, 132, 0b1111, {.tile = 1, .splits = 8}).order.splits,
      1);  // exceeds the workspace
  EXPECT_EQ(plan_tiles(tile_costs, 4096, 4096, 4096, 64, 132, 0b1111, {.group = 5}).order.raster_rows, 5);
  for (int cols = cols_granularity; cols <= 192; cols += cols_granularity) {
    const TileOptions options{.tile = 5, .splits = 4, .shape = {128, cols, 1, 1}};
    EXPECT_EQ(plan_tiles(tile_costs, 256, 256, 4096, 64, 132, 0b1111111, options).order.splits, 4) << cols;
  }
}

TEST(TilePlan, AcceptsCompiledTilesAndRefusesOthers) {
  std::mt19937 random(8);
  int taken = 0;
  for (int i = 0; i < 2000; ++i) {
    const auto once = [&](int what) { return random() % 3 == 0 ? 0 : what; };
    const TileShape wanted{once(static_cast<int>(random() % 4 * 64)),
                           once(static_cast<int>(random() % 26 * 8)), once(static_cast<int>(random() % 5)),
                           once(static_cast<int>(random() % 5))};
    const TilePlan plan =
        plan_tiles(tile_costs, 1000, 2000, 512, 64, 132, 0b1111111, {.tile = 5, .shape = wanted});
    const auto as_wanted = [](int value, int one) { return one == 0 || value == one; };
    const bool heard = plan.tile == 4 && as_wanted(plan.shape.rows, wanted.rows) &&
                       as_wanted(plan.shape.cols, wanted.cols) &&
                       as_wanted(plan.shape.cluster_rows, wanted.cluster_rows) &&
                       as_wanted(plan.shape.cluster_cols, wanted.cluster_cols);
    ASSERT_EQ(heard, !refuses_shape(wanted, tile_costs)) << wanted.rows << ' ' << wanted.cols;
    taken += heard ? 1 : 0;
  }
  EXPECT_TRUE(taken > 200 && taken < 1800) << taken;
  EXPECT_TRUE(refuses_shape({192, 176, 0, 0}, tile_costs));
  EXPECT_TRUE(refuses_shape({192, 0, 0, 0}, promoted_costs));
}

TEST(TilePlan, ATileOfRuntimeShapeHasFourStages) {
  int sizes = 0;
  for (int rows = rows_granularity; rows <= 192; rows += rows_granularity)
    for (int cols = cols_granularity; cols <= 192; cols += cols_granularity) {
      const TileShape shape{rows, cols, 1, 1};
      if (refuses_shape(shape, tile_costs)) continue;
      ++sizes;
      const int stages = stage_count(shape), boxes = rows / 64 * epilogue_smem_bytes;
      EXPECT_TRUE(stages >= 4 && stages <= max_stages) << rows << " " << cols;
      EXPECT_LE(stages * (rows + cols) * 128 + boxes, runtime_shape_bytes) << rows << " " << cols;
    }
  EXPECT_EQ(sizes, 12 + 12 + 10);
}

// An int holds the number of tiles in a band.
TEST(TilePlan, RasterGroupsFitTheProduct) {
  const TilePlan plan = plan_tiles(tile_costs, 1, std::int64_t{1} << 30, 64, 64, 132, 0b1111111,
                                   {.tile = 5, .group = 64, .shape = {64, 16, 1, 1}});
  EXPECT_EQ(plan.order.raster_rows, 1);
  const TileScheduler walk(plan.order);
  EXPECT_EQ(walk.at(12345).col, 12345);
}

TEST(TilePlan, RefusesARequestWithoutEffect) {
  EXPECT_EQ(refuses_tile(2, tile_costs, 0b00101), "has no tile=2 for MN-major operands; it has tile=1, 3");
  EXPECT_EQ(refuses_tile(9, promoted_costs, 0b11111),
            "has no tile=9 for sums that are promoted; it has tile=1, 2, 3, 4, 5");
  for (const TileCosts costs : {TileCosts(tile_costs), TileCosts(promoted_costs)})
    for (unsigned tiles = 1; tiles < 32; ++tiles)
      for (int tile = 0; tile <= tile_count; ++tile) {
        if ((tiles & ((1u << costs.size()) - 1)) == 0) continue;
        const bool heard =
            tile == 0 || plan_tiles(costs, 4096, 4096, 4096, 64, 132, tiles, {.tile = tile}).tile == tile - 1;
        EXPECT_EQ(heard, !refuses_tile(tile, costs, tiles))
            << tile << " of " << tiles << " and " << costs.size();
      }
}

LaunchPlanner planner(TileCosts costs, std::int64_t k) {
  return [costs, k](std::int64_t rows, std::int64_t cols, bool) {
    return plan_tiles(costs, rows, cols, k, 64, 132, (1u << costs.size()) - 1);
  };
}

// Parts partition C: together as large as C, each within it, pairwise disjoint.
void expect_each_element_once(const PlannedLaunches& launches, std::int64_t m, std::int64_t n) {
  ASSERT_TRUE(launches.count >= 1 && launches.count <= PlannedLaunches::max_launches);
  std::int64_t elements = 0;
  for (int i = 0; i < launches.count; ++i) {
    const PlannedLaunch& p = launches.launch[i];
    ASSERT_TRUE(p.row >= 0 && p.col >= 0 && p.rows >= 1 && p.cols >= 1 && p.row + p.rows <= m &&
                p.col + p.cols <= n);
    elements += p.rows * p.cols;
    for (int j = 0; j < i; ++j) {
      const PlannedLaunch& q = launches.launch[j];
      const bool apart = p.row >= q.row + q.rows || q.row >= p.row + p.rows || p.col >= q.col + q.cols ||
                         q.col >= p.col + p.cols;
      ASSERT_TRUE(apart) << m << " " << n;
    }
  }
  ASSERT_EQ(elements, m * n) << m << " " << n;
}

TEST(TileParts, HoldEachElementOnceForAnySplit) {
  std::mt19937 random(4);
  const auto extent = [&] {
    return static_cast<std::int64_t>(std::exp2(static_cast<double>(random() % 1400) / 100));
  };
  int cut = 0;
  for (int i = 0; i < 600; ++i) {
    const std::int64_t m = extent(), n = extent();
    const TileCosts costs = random() % 2 == 0 ? TileCosts(tile_costs) : TileCosts(promoted_costs);
    const auto count = static_cast<LaunchMode>(random() % 3);
    const PlannedLaunches launches = plan_launches(m, n, count, planner(costs, extent()));
    expect_each_element_once(launches, m, n);
    cut += launches.count > 1 ? 1 : 0;
    ASSERT_TRUE(count != LaunchMode::one || launches.count == 1);
    // The TMA's addresses are multiples of 16 bytes, whatever the element.
    for (int j = 0; j < launches.count; ++j)
      ASSERT_TRUE(launches.launch[j].row % 16 == 0 && launches.launch[j].col % 16 == 0);
    // A part's plan covers the part exactly.
    for (int j = 0; j < launches.count; ++j) {
      const PlannedLaunch& p = launches.launch[j];
      const std::int64_t height = std::int64_t{p.plan.shape.rows} * p.plan.shape.cluster_rows;
      ASSERT_TRUE(p.plan.order.rows * height >= p.rows && (p.plan.order.rows - 1) * height < p.rows);
    }
  }
  EXPECT_GT(cut, 100);
}

TEST(TileParts, AreSplitWhereItPays) {
  std::mt19937 random(5);
  int cut = 0;
  for (int i = 0; i < 150; ++i) {
    const std::int64_t m = 4096 + random() % 4096, n = 4096 + random() % 4096, k = 4096;
    const TileCosts costs = i % 2 == 0 ? TileCosts(tile_costs) : TileCosts(promoted_costs);
    const PlannedLaunches whole = plan_launches(m, n, LaunchMode::one, planner(costs, k)),
                          launches = plan_launches(m, n, LaunchMode::model, planner(costs, k));
    ASSERT_LE(launches.microseconds, whole.microseconds);
    if (launches.count == 1) continue;
    ++cut;
    double sum = 0;
    for (int j = 0; j < launches.count; ++j) sum += launches.launch[j].plan.microseconds;
    ASSERT_LT(sum, launches.microseconds);  // further launches have a cost
    ASSERT_LT(launches.microseconds, whole.microseconds) << m << " " << n;
  }
  EXPECT_GT(cut, 15);
}

TEST(TileParts, KnownShapes) {
  // One row more than 16 × 16 tiles cover would start a third wave of 132. (The fifth tile, of another width,
  // avoids that.)
  const TileCosts four = TileCosts(promoted_costs).first(4);
  const PlannedLaunches odd = plan_launches(2049, 2048, LaunchMode::model, planner(four, 4101));
  ASSERT_EQ(odd.count, 2);
  EXPECT_EQ(odd.launch[0].rows, 2048);
  EXPECT_EQ(odd.launch[1].row, 2048);
  EXPECT_EQ(odd.launch[1].rows, 1);
  EXPECT_EQ(odd.launch[1].cols, 2048);
  EXPECT_LT(odd.microseconds,
            0.95 * plan_launches(2049, 2048, LaunchMode::one, planner(four, 4101)).microseconds);
  // No remainder, or one of nearly a tile, or a product so short that a further launch would not pay.
  EXPECT_EQ(plan_launches(4096, 4096, LaunchMode::several, planner(tile_costs, 4096)).count, 1);
  EXPECT_EQ(plan_launches(4095, 4096, LaunchMode::model, planner(tile_costs, 4096)).count, 1);
  EXPECT_EQ(plan_launches(257, 4099, LaunchMode::model, planner(tile_costs, 512)).count, 1);
  // Splits at any remainder: rows and columns beyond multiples of 256, or of 64 if there are fewer.
  const PlannedLaunches all = plan_launches(300, 100, LaunchMode::several, planner(tile_costs, 100));
  ASSERT_EQ(all.count, 3);
  EXPECT_EQ(all.launch[0].rows, 256);
  EXPECT_EQ(all.launch[0].cols, 64);
  EXPECT_EQ(all.launch[1].col, 64);
  EXPECT_EQ(all.launch[2].row, 256);
  EXPECT_EQ(all.launch[2].cols, 100);
  EXPECT_EQ(plan_launches(40, 30, LaunchMode::several, planner(tile_costs, 100)).count, 1);
}

// Whatever the number of rows, sums are divided at the same k tiles, and every part is added: by split-K, or
// one after the other by a segmented tile.
TEST(TilePlan, ExactSplitsDivideSumsAtTheSameKTilesForAnyNumberOfRows) {
  const auto expect_same_parts = [](TileCosts costs, std::int64_t n, std::int64_t k, int block_k,
                                    bool splits_sums) {
    const int splits = splits_of_any_rows(costs, n, k, block_k, 132);
    const std::int64_t k_tiles = (k + block_k - 1) / block_k, each = (k_tiles + splits - 1) / splits;
    bool is_segmented = false;
    for (std::int64_t m = 1; m <= 16384; m += m < 300 ? 1 : m / 7) {
      const TilePlan plan = plan_exact_splits(costs, m, n, k, block_k, 132, ~0u, splits);
      ASSERT_EQ(plan.k_tiles_per_split, each) << m;
      ASSERT_EQ(plan.k_tile_count, k_tiles) << m;
      if (plan.tile == segmented_tile) {
        ASSERT_EQ(plan.order.splits * plan.cluster_splits, 1) << m;
        ASSERT_TRUE(plan.shape.rows <= segmented_rows && plan.shape.cols % segmented_cols == 0) << m;
        is_segmented = true;
      } else {
        ASSERT_EQ(plan.order.splits * plan.cluster_splits, (k_tiles + each - 1) / each) << m;
      }
    }
    EXPECT_EQ(splits > 1, splits_sums) << n << " " << k;
    EXPECT_EQ(is_segmented, splits_sums) << n << " " << k;
  };
  expect_same_parts(tile_costs, 12288, 4096, 64, false);
  expect_same_parts(tile_costs, 1024, 16384, 64, true);
  expect_same_parts(tile_costs, 768, 3072, 32, true);
  expect_same_parts(tile_costs, 64, 16384, 64, true);
  expect_same_parts(promoted_costs, 2048, 14336, 128, true);
  expect_same_parts(promoted_costs, 4096, 14336, 128, false);
  expect_same_parts(tile_costs, 100, 1, 64, false);
}

// The cost of a tile with one block per multiprocessor; a stage takes time in proportion to its products.
TileCost square_tile(int rows, int cols) { return {rows, cols, 1, 1, 1e-3 * rows * cols, 1}; }

struct Waves {
  std::int64_t tiles, waves, last;  // last: tiles of the last wave
};
// Derived from the plan's time: all waves take equally long.
Waves waves_of(const TileCost& cost, const TilePlan& plan, int multiprocessors) {
  const double waves = plan.microseconds / (plan.k_tile_count * cost.k_tile_us + cost.tile_us);
  EXPECT_NEAR(waves, std::round(waves), 1e-9);
  return {plan.order.count(), std::llround(waves),
          plan.order.count() - (std::llround(waves) - 1) * multiprocessors};
}
TilePlan plan_of(TileCosts costs, std::int64_t m, std::int64_t n, int multiprocessors) {
  return plan_tiles(costs, m, n, 4096, 64, multiprocessors, (1u << costs.size()) - 1, {.splits = 1});
}
Waves waves_of(const TileCost& cost, std::int64_t m, std::int64_t n, int multiprocessors) {
  return waves_of(cost, plan_of({&cost, 1}, m, n, multiprocessors), multiprocessors);
}

// cuBLAS, in NVIDIA's "Matrix Multiplication Background User's Guide", "Wave Quantization": m = 2304, k =
// 4096 on an A100's 108 multiprocessors in tiles of 256 × 128. At n = 1536 there is one full wave; the next
// column starts another, and the time doubles.
TEST(TileWaves, MatchMeasurementsOfCublas) {
  const TileCost cost = square_tile(256, 128);
  const auto plan = [&](std::int64_t n) { return plan_of({&cost, 1}, 2304, n, 108); };
  const Waves full = waves_of(cost, plan(1536), 108), more = waves_of(cost, plan(1537), 108);
  EXPECT_EQ(full.tiles, 108);
  EXPECT_EQ(full.waves, 1);
  EXPECT_EQ(full.last, 108);
  EXPECT_EQ(more.tiles, 117);
  EXPECT_EQ(more.waves, 2);
  EXPECT_EQ(more.last, 9);
  EXPECT_DOUBLE_EQ(plan(1537).microseconds, 2 * plan(1536).microseconds);
  EXPECT_DOUBLE_EQ(plan(1).microseconds, plan(1536).microseconds);
  EXPECT_DOUBLE_EQ(plan(3072).microseconds, plan(1537).microseconds);
}

// With the shapes that have kernels, a plan takes no more waves than any other tile of equal time would.
TEST(TileWaves, DecideBetweenTilesOfOneSpeed) {
  const TileCost costs[] = {square_tile(128, 256), square_tile(128, 128), square_tile(64, 128)};
  for (std::int64_t n = 64; n <= 8192; n += 64) {
    const TilePlan plan = plan_of(costs, 1024, n, 132);
    double least = 1e9;
    for (const TileCost& cost : costs)
      least =
          std::min(least, static_cast<double>(waves_of(cost, 1024, n, 132).waves) * cost.rows * cost.cols);
    const TileCost& taken = costs[plan.tile];
    const auto here = static_cast<double>(waves_of(taken, plan, 132).waves) * taken.rows * taken.cols;
    EXPECT_LE(here, least * 1.01) << n;
  }
}

}  // namespace
}  // namespace tessera::matmul
