// SPDX-License-Identifier: Apache-2.0
// The plan of rung 12: every part of every sum exactly once, whatever the shape, and within the spare memory.
#include "ops/matmul/kernels/ampere/mma_plan.hpp"
#include <gtest/gtest.h>
#include <cmath>
#include <random>
#include <set>
#include <tuple>

namespace tessera::matmul {
namespace {

constexpr MmaMachine h200{132, 227 * 1024};

void expect_covered(const MmaElement& element, const MmaPlan& plan, std::int64_t m, std::int64_t n,
                    std::int64_t k) {
  const MmaConfig& tile = element.tiles[static_cast<std::size_t>(plan.tile)];
  const int depth = 128 / element.bytes;
  ASSERT_TRUE(std::int64_t{plan.order.rows} * tile.rows >= m &&
              std::int64_t{plan.order.rows - 1} * tile.rows < m);
  ASSERT_TRUE(std::int64_t{plan.order.cols} * tile.cols >= n &&
              std::int64_t{plan.order.cols - 1} * tile.cols < n);
  ASSERT_EQ(plan.depth, (k + depth - 1) / depth);
  // Each split has something to add, and together they have all.
  ASSERT_GE(std::int64_t{plan.split_depth} * plan.order.splits, plan.depth);
  if (plan.order.splits == 1) return;
  ASSERT_LT(std::int64_t{plan.split_depth} * (plan.order.splits - 1), plan.depth);
  ASSERT_LE(std::int64_t{plan.order.rows} * plan.order.cols, most_mma_counters);
  ASSERT_LE(plan.order.count() * tile.rows * tile.cols * element.sum_bytes, mma_partial_bytes(element, m, n));
}

TEST(MmaPlan, CoversAnyShapeAndItsSum) {
  std::mt19937 random(3);
  const auto size = [&] {
    return static_cast<std::int64_t>(std::exp2(static_cast<double>(random() % 1500) / 100));
  };
  for (int i = 0; i < 5000; ++i) {
    const MmaElement& element = random() % 2 == 0 ? mma_f64 : mma_half;
    const std::int64_t m = size(), n = size(), k = random() % 20 == 0 ? 0 : size();
    const MmaMachine machine{static_cast<int>(random() % 200 + 1),
                             random() % 2 == 0 ? 227 * 1024 : 99 * 1024};
    const MmaOptions options{
        .tile = static_cast<int>(random() % 8), .splits = static_cast<int>(random() % 17), .group = 0};
    const MmaPlan plan = plan_mma(element, m, n, k, machine, random() % 2 == 0 ? options : MmaOptions{});
    ASSERT_LE(element.tiles[static_cast<std::size_t>(plan.tile)].shared_bytes(), machine.shared_bytes);
    ASSERT_GE(plan.order.group, 1);
    ASSERT_NO_FATAL_FAILURE(expect_covered(element, plan, m, n, k)) << m << " " << n << " " << k;
  }
}

TEST(MmaPlan, EveryTileAndSplitComesOnce) {
  std::mt19937 random(4);
  for (int i = 0; i < 300; ++i) {
    const auto m = static_cast<std::int64_t>(random() % 900 + 1),
               n = static_cast<std::int64_t>(random() % 900 + 1);
    const MmaPlan plan = plan_mma(mma_f64, m, n, static_cast<std::int64_t>(random() % 5000), h200);
    std::set<std::tuple<int, int, int>> met;
    for (std::int32_t unit = 0; unit < plan.order.count(); ++unit) {
      const TileOrder::Tile tile = plan.order.at(unit);
      ASSERT_TRUE(tile.row >= 0 && tile.row < plan.order.rows && tile.col >= 0 && tile.col < plan.order.cols);
      ASSERT_TRUE(tile.split >= 0 && tile.split < plan.order.splits);
      ASSERT_TRUE(met.emplace(tile.row, tile.col, tile.split).second);
    }
    ASSERT_EQ(met.size(),
              std::size_t(plan.order.rows) * std::size_t(plan.order.cols) * std::size_t(plan.order.splits));
  }
}

TEST(MmaPlan, KnownShapes) {
  const auto f64 = [](std::int64_t m, std::int64_t n, std::int64_t k) {
    return plan_mma(mma_f64, m, n, k, h200);
  };
  EXPECT_EQ(f64(8192, 8192, 8192).tile, 1);  // 128 × 64, two blocks on a multiprocessor
  EXPECT_EQ(f64(8192, 8192, 8192).order.splits, 1);
  EXPECT_EQ(f64(8192, 8192, 512).tile, 1);  // many beginnings and ends, which two blocks hide from each other
  // Warps with a slice of the sum each: 32 × 32, or where that is too few blocks, 16 × 32.
  EXPECT_EQ(f64(512, 512, 512).tile, 5);
  for (const std::int64_t size : {64, 128, 256}) EXPECT_EQ(f64(size, size, size).tile, 6);
  EXPECT_EQ(f64(512, 512, 512).order.splits, 1);
  EXPECT_EQ(f64(1024, 1024, 1024).tile,
            2);  // 256 tiles of 64 × 64, two blocks on each of 132 multiprocessors
  EXPECT_EQ(f64(64, 7168, 2112).order.splits, 2);
  EXPECT_EQ(f64(16, 8192, 8192).tile, 4);  // as many rows as A
  EXPECT_GT(f64(128, 4096, 7168).order.splits, 1);
  EXPECT_EQ(f64(1, 1, 0).depth, 0);
  EXPECT_EQ(plan_mma(mma_half, 8192, 8192, 8192, h200).tile, 0);
  EXPECT_EQ(plan_mma(mma_half, 512, 512, 512, h200).tile, 1);
  // 64 × 64 tiles, one for each of 100 multiprocessors.
  EXPECT_EQ(plan_mma(mma_f64, 640, 640, 4096, {100, 227 * 1024}).tile, 2);
}

TEST(MmaPlan, TheModelCountsWhatTakesLonger) {
  const auto cycles = [](std::int64_t k, MmaOptions options) {
    return plan_mma(mma_f64, 2048, 2048, k, h200, options).cycles;
  };
  EXPECT_GT(cycles(2048, {.tile = 1}), cycles(1024, {.tile = 1}));
  EXPECT_GT(cycles(512, {.tile = 1, .splits = 2}), cycles(512, {.tile = 1, .splits = 1}));
  EXPECT_GT(cycles(2048, {.tile = 4}), cycles(2048, {.tile = 1}));
  // 128 · 128 · 16 multiply-adds at 128 a cycle, in 128 stages of two tiles each: no model may promise more.
  EXPECT_GT(cycles(2048, {.tile = 1}), 2 * 128 * 2048.0);
}

TEST(MmaPlan, WhatIsWishedForIsDoneWhereItCanBe) {
  EXPECT_EQ(plan_mma(mma_f64, 4096, 4096, 4096, h200, {.tile = 3}).tile, 2);
  EXPECT_NE(plan_mma(mma_f64, 4096, 4096, 4096, {84, 99 * 1024}, {.tile = 1}).tile,
            0);  // there is no room for it
  EXPECT_EQ(plan_mma(mma_f64, 256, 256, 4096, h200, {.splits = 4}).order.splits, 4);
  EXPECT_EQ(plan_mma(mma_f64, 256, 256, 4096, h200, {.tile = 6, .splits = 4}).order.splits,
            1);  // its sums are sliced
  EXPECT_EQ(plan_mma(mma_f64, 16384, 16384, 4096, h200, {.splits = 8}).order.splits, 1);  // no room
  EXPECT_EQ(plan_mma(mma_f64, 4096, 4096, 4096, h200, {.group = 5}).order.group, 5);
}

}  // namespace
}  // namespace tessera::matmul
