// SPDX-License-Identifier: Apache-2.0
// Rung 11's layout, Stream-K shares and plans.
#include <cmath>
#include <gtest/gtest.h>
#include <random>
#include <set>
#include <tuple>
#include <vector>
#include "ops/matmul/plans/warp_plan.hpp"

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
      const typename Layout::ThreadOffset offset(thread);
      for (int i = 0; i < Layout::thread_m; ++i)
        for (int j = 0; j < Layout::thread_n; ++j) {
          const std::int64_t at_row = row + offset.m + Layout::row_of(i),
                             at_col = col + offset.n + Layout::col_of(j);
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
  expect_one_owner_each<warp_small, 4>();
  expect_one_owner_each<warp_half, 4>();
  expect_one_owner_each<warp_flat, 4>();
  expect_one_owner_each<warp_eight, 4>();
  expect_one_owner_each<warp_thin, 4>();
  expect_one_owner_each<WarpTilesConfig{.warp_n = 32}, 2>();
}

constexpr WarpMachine h200{132, 227 * 1024};
constexpr unsigned all_tiles = (1u << warp_tile_count) - 1;

struct Met {
  std::vector<std::int32_t> done;   // stages of each tile
  std::vector<std::int32_t> parts;  // parts of each tile
  std::set<std::int64_t> slots;
};

// Segments are in order: each part of a tile starts at the end of the previous one.
void expect_block(const StreamK& s, std::int32_t block, Met& met) {
  for (std::int64_t at = s.begin(block); at < s.end(block);) {
    const StreamK::Segment segment = s.segment(block, at);
    ASSERT_GT(segment.next, at);
    at = segment.next;
    ASSERT_TRUE(segment.tile >= 0 && segment.tile < s.tiles);
    const auto tile = static_cast<std::size_t>(segment.tile);
    ASSERT_EQ(segment.first, met.done[tile]);
    ASSERT_GT(segment.end, segment.first);
    met.done[tile] = segment.end;
    if (segment.is_whole_tile()) {
      ASSERT_TRUE(segment.first == 0 && segment.end == s.stages);
      continue;
    }
    const std::int32_t share = block - s.data_parallel_tiles;
    ASSERT_EQ(segment.from + met.parts[tile], share) << "parts are numbered without a gap";
    ASSERT_LE(share, segment.to);
    ++met.parts[tile];
    ASSERT_EQ(segment.end == s.stages, share == segment.to);
    const std::int64_t slot = s.slot(share, segment.tile);
    ASSERT_TRUE(slot >= 0 && slot < s.slots());
    ASSERT_TRUE(met.slots.insert(slot).second);
  }
}

void expect_shares(const StreamK& s) {
  Met met{.done = std::vector<std::int32_t>(static_cast<std::size_t>(s.tiles)),
          .parts = std::vector<std::int32_t>(static_cast<std::size_t>(s.tiles)),
          .slots = {}};
  for (std::int32_t block = 0; block < s.blocks(); ++block) {
    ASSERT_LT(s.begin(block), s.end(block)) << "nobody has nothing to do";
    ASSERT_NO_FATAL_FAILURE(expect_block(s, block, met));
  }
  for (const std::int32_t done : met.done) ASSERT_EQ(done, s.stages);
}

void expect_covered(const WarpPlan& plan, std::int64_t m, std::int64_t n, std::int64_t k) {
  const WarpTilesConfig& tile = warp_tiles[plan.tile];
  ASSERT_TRUE(std::int64_t{plan.order.rows} * tile.m >= m && std::int64_t{plan.order.rows - 1} * tile.m < m);
  ASSERT_TRUE(std::int64_t{plan.order.cols} * tile.n >= n && std::int64_t{plan.order.cols - 1} * tile.n < n);
  const StreamK& s = plan.stream_k;
  ASSERT_EQ(s.tiles, plan.order.count());
  ASSERT_EQ(s.stages, std::max<std::int64_t>((k + tile.depth - 1) / tile.depth, 1));
  ASSERT_TRUE(s.iterations_per_tile >= s.stages && s.iterations_per_block >= 1);
  ASSERT_LE(s.slots() * tile.m * tile.n * 4, max_warp_partial_bytes);
  if (s.blocks() < 20000) expect_shares(s);
}

TEST(WarpPlan, CoversAnyShapeAndItsSum) {
  std::mt19937 random(3);
  const auto size = [&] {
    return static_cast<std::int64_t>(std::exp2(static_cast<double>(random() % 1400) / 100));
  };
  for (int i = 0; i < 600; ++i) {
    const std::int64_t m = size(), n = size(), k = random() % 20 == 0 ? 0 : size();
    const WarpMachine machine{static_cast<int>(random() % 200 + 1),
                              random() % 2 == 0 ? 227 * 1024 : 99 * 1024};
    const WarpOptions options{.tile = static_cast<int>(random() % (warp_tile_count + 1)),
                              .splits = static_cast<int>(random() % 33)};
    const auto tiles = static_cast<unsigned>(random() % all_tiles + 1);
    const WarpPlan plan = plan_warp_tiles(m, n, k, machine, tiles | 1, i % 2 == 0 ? options : WarpOptions{});
    ASSERT_NE((tiles | 1) >> plan.tile & 1, 0u);
    ASSERT_LE(warp_shared_bytes(warp_tiles[plan.tile], 4), machine.shared_bytes);
    ASSERT_NO_FATAL_FAILURE(expect_covered(plan, m, n, k)) << m << " " << n << " " << k;
  }
}

// With exact parts, the sums of all tiles and of any number of rows begin their parts at the same k.
TEST(WarpPlan, ExactPartsDoNotDependOnRowsOrTile) {
  for (const auto& [n, k] : {std::pair{4096, 4096},
                             {768, 3072},
                             {100, 1001},
                             {1, 2048},
                             {5000, 40},
                             {64, 1},
                             {408, 584},
                             {36611, 1499}}) {
    const int parts = warp_parts_of_any_rows(n, k, h200);
    const std::int64_t at_once = parts == 1 ? 300 : warp_rows_at_once(n, parts);
    ASSERT_GT(at_once, 0);
    std::int64_t products_of_part = 0;
    for (const std::int64_t m : {std::int64_t{1}, std::int64_t{16}, std::int64_t{65}, at_once})
      for (int tile = 0; tile <= warp_tile_count; ++tile) {
        const WarpPlan plan = plan_warp_tiles(m, n, k, h200, all_tiles, {.tile = tile, .exact_parts = parts});
        const WarpTilesConfig& config = warp_tiles[plan.tile];
        ASSERT_NO_FATAL_FAILURE(expect_covered(plan, m, n, k)) << m << " " << n << " " << k;
        ASSERT_EQ(config.slices, 1);
        const StreamK& s = plan.stream_k;
        ASSERT_EQ(s.iterations_per_tile % s.iterations_per_block, 0);
        const std::int64_t products = std::int64_t{s.iterations_per_block} * config.depth;
        if (products_of_part == 0) products_of_part = products;
        ASSERT_EQ(products, products_of_part) << m << " " << n << " " << k << " tile " << plan.tile;
      }
  }
}

// All combinations that a plan could request, and more.
TEST(StreamK, CoversEveryStageOnce) {
  std::mt19937 random(4);
  for (int i = 0; i < 1000; ++i) {
    const auto number = [&](unsigned most) { return static_cast<std::int32_t>(random() % most); };
    StreamK s;
    s.tiles = number(40) + 1;
    s.data_parallel_tiles = number(static_cast<unsigned>(s.tiles) + 1);
    s.stages = s.iterations_per_tile = number(60) + 1;
    s.iterations_per_block = number(100) + 1;
    ASSERT_NO_FATAL_FAILURE(expect_shares(s))
        << s.tiles << " " << s.data_parallel_tiles << " " << s.stages << " " << s.iterations_per_block;
  }
}

TEST(WarpPlan, KnownShapes) {
  const auto plan = [](std::int64_t m, std::int64_t n, std::int64_t k) {
    return plan_warp_tiles(m, n, k, h200, all_tiles);
  };
  // Large squares: the largest tile. 1024 tiles are not a multiple of 264: the last ones use stream-K.
  for (const std::int64_t size : {2048, 4096, 8192}) EXPECT_EQ(plan(size, size, size).tile, 0);
  EXPECT_EQ(plan(4096, 4096, 4096).stream_k.data_parallel_tiles, 2 * 264);
  EXPECT_EQ(plan(4096, 4096, 4096).stream_k.blocks(), 3 * 264);
  EXPECT_EQ(plan(16, 8192, 8192).tile, 7);
  EXPECT_GT(plan(32, 8192, 8192).stream_k.blocks(), 3 * 132);
  // Few results of long sums: nearly as many parts as multiprocessors, each in slices.
  EXPECT_EQ(plan(16, 24, 10864).tile, 3);
  EXPECT_GT(plan(16, 24, 10864).stream_k.blocks(), 60);
  EXPECT_GT(plan(32, 240, 10392).stream_k.blocks(), 90);
  // Small products: sliced tiles, no splits.
  for (const std::int64_t size : {64, 256, 512}) EXPECT_GT(warp_tiles[plan(size, size, size).tile].slices, 1);
  EXPECT_EQ(plan(512, 512, 512).stream_k.data_parallel_tiles, plan(512, 512, 512).stream_k.tiles);
  // Nearly all multiprocessors have a block of eight warps.
  EXPECT_EQ(plan(1024, 1024, 1024).tile, 6);
  EXPECT_EQ(plan(768, 768, 768).tile, 5);
  EXPECT_EQ(plan(64, 7168, 2112).tile, 6);
  EXPECT_LT(plan(128, 4096, 7168).stream_k.data_parallel_tiles, plan(128, 4096, 7168).stream_k.tiles);
  EXPECT_EQ(plan(1, 1, 0).stream_k.stages, 1);
}

TEST(WarpPlan, TheCostModelCountsSlowerCopies) {
  const auto cycles = [](std::int64_t k, WarpOptions options) {
    return plan_warp_tiles(2048, 2048, k, h200, all_tiles, options).cycles;
  };
  for (int tile = 1; tile <= warp_tile_count; ++tile)
    EXPECT_GT(cycles(2048, {.tile = tile}), cycles(1024, {.tile = tile}));
  EXPECT_GT(cycles(512, {.tile = 1, .splits = 2}), cycles(512, {.tile = 1, .splits = 1}));
  EXPECT_GT(cycles(2048, {.tile = 3}), cycles(2048, {.tile = 1}));
  // 2^33 multiply-adds at 128 a cycle of each multiprocessor: a lower bound for any model.
  for (int tile = 1; tile <= warp_tile_count; ++tile)
    EXPECT_GT(cycles(2048, {.tile = tile}), std::exp2(33) / 128 / 132);
}

// Lines whose length is not a multiple of 16 bytes.
TEST(WarpPlan, CopiesByElementsCountMore) {
  const WarpOptions options{.tile = 3, .splits = 1};
  EXPECT_GT(plan_warp_tiles(16, 8192, 8191, h200, all_tiles, options, 1u << 2).cycles,
            plan_warp_tiles(16, 8192, 8191, h200, all_tiles, options).cycles);
}

TEST(WarpPlan, HonoursRequestedOptionsWherePossible) {
  const auto plan = [](std::int64_t size, std::int64_t k, WarpOptions options) {
    return plan_warp_tiles(size, size, k, h200, all_tiles, options);
  };
  EXPECT_EQ(plan(4096, 4096, {.tile = 2}).tile, 1);
  EXPECT_NE(plan_warp_tiles(64, 64, 64, h200, 2, {.tile = 1}).tile, 0) << "no kernel for how operands lie";
  const StreamK four = plan(256, 4096, {.tile = 1, .splits = 4}).stream_k;
  EXPECT_EQ(four.blocks(), 4 * four.tiles);
  EXPECT_EQ(plan(256, 4096, {.splits = 1}).stream_k.data_parallel_tiles,
            plan(256, 4096, {.splits = 1}).stream_k.tiles);
  const StreamK none = plan(16384, 4096, {.splits = 8}).stream_k;  // exceeds the workspace
  EXPECT_EQ(none.data_parallel_tiles, none.tiles);
}

}  // namespace
}  // namespace tessera::matmul
