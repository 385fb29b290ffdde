// SPDX-License-Identifier: Apache-2.0
// Products in several launches: every element of C in exactly one part, and cuts that the model finds worth a
// launch.
#include "ops/matmul/kernels/hopper/tile_plan.hpp"
#include <gtest/gtest.h>
#include <cmath>
#include <random>

namespace tessera::matmul {
namespace {

PartPlanner planner(TileShapes shapes, std::int64_t k) {
  return [shapes, k](std::int64_t rows, std::int64_t cols, bool) {
    return plan_tiles(shapes, rows, cols, k, 64, 132, (1u << shapes.size()) - 1);
  };
}

// Parts meet nowhere and leave nothing out: together as large as C, each within it, no two with an element in
// common.
void expect_each_element_once(const PlannedParts& parts, std::int64_t m, std::int64_t n) {
  ASSERT_TRUE(parts.count >= 1 && parts.count <= PlannedParts::most);
  std::int64_t elements = 0;
  for (int i = 0; i < parts.count; ++i) {
    const PlannedPart& p = parts.part[i];
    ASSERT_TRUE(p.row >= 0 && p.col >= 0 && p.rows >= 1 && p.cols >= 1 && p.row + p.rows <= m &&
                p.col + p.cols <= n);
    elements += p.rows * p.cols;
    for (int j = 0; j < i; ++j) {
      const PlannedPart& q = parts.part[j];
      const bool apart = p.row >= q.row + q.rows || q.row >= p.row + p.rows || p.col >= q.col + q.cols ||
                         q.col >= p.col + p.cols;
      ASSERT_TRUE(apart) << m << " " << n;
    }
  }
  ASSERT_EQ(elements, m * n) << m << " " << n;
}

TEST(TileParts, HoldEachElementOnceWhereverTheyAreCut) {
  std::mt19937 random(4);
  const auto size = [&] {
    return static_cast<std::int64_t>(std::exp2(static_cast<double>(random() % 1400) / 100));
  };
  int cut = 0;
  for (int i = 0; i < 3000; ++i) {
    const std::int64_t m = size(), n = size();
    const TileShapes shapes = random() % 2 == 0 ? TileShapes(tile_shapes) : TileShapes(promoted_shapes);
    const auto cuts = static_cast<Cuts>(random() % 3);
    const PlannedParts parts = plan_parts(m, n, cuts, planner(shapes, size()));
    expect_each_element_once(parts, m, n);
    cut += parts.count > 1 ? 1 : 0;
    ASSERT_TRUE(cuts != Cuts::never || parts.count == 1);
    // The TMA's addresses are multiples of 16 bytes, whatever the element.
    for (int j = 0; j < parts.count; ++j)
      ASSERT_TRUE(parts.part[j].row % 16 == 0 && parts.part[j].col % 16 == 0);
    // A part's plan is of its own size.
    for (int j = 0; j < parts.count; ++j) {
      const PlannedPart& p = parts.part[j];
      const TileShape& shape = shapes[static_cast<std::size_t>(p.plan.tile)];
      const std::int64_t height = std::int64_t{shape.rows} * shape.cluster_rows;
      ASSERT_TRUE(p.plan.order.rows * height >= p.rows && (p.plan.order.rows - 1) * height < p.rows);
    }
  }
  EXPECT_GT(cut, 500);
}

TEST(TileParts, AreCutWhereThatPays) {
  std::mt19937 random(5);
  int cut = 0;
  for (int i = 0; i < 500; ++i) {
    const std::int64_t m = 4096 + random() % 4096, n = 4096 + random() % 4096, k = 4096;
    const TileShapes shapes = i % 2 == 0 ? TileShapes(tile_shapes) : TileShapes(promoted_shapes);
    const PlannedParts whole = plan_parts(m, n, Cuts::never, planner(shapes, k)),
                       parts = plan_parts(m, n, Cuts::model, planner(shapes, k));
    ASSERT_LE(parts.microseconds, whole.microseconds);
    if (parts.count == 1) continue;
    ++cut;
    double sum = 0;
    for (int j = 0; j < parts.count; ++j) sum += parts.part[j].plan.microseconds;
    ASSERT_LT(sum, parts.microseconds);  // further launches are not for nothing
    ASSERT_LT(parts.microseconds, whole.microseconds) << m << " " << n;
  }
  EXPECT_GT(cut, 50);
}

TEST(TileParts, KnownShapes) {
  // One row more than 16 clusters' tiles have: it would begin a fifth round of 66 clusters.
  const PlannedParts odd = plan_parts(4097, 4099, Cuts::model, planner(promoted_shapes, 4101));
  ASSERT_EQ(odd.count, 2);
  EXPECT_EQ(odd.part[0].rows, 4096);
  EXPECT_EQ(odd.part[1].row, 4096);
  EXPECT_EQ(odd.part[1].rows, 1);
  EXPECT_EQ(odd.part[1].cols, 4099);
  EXPECT_LT(odd.microseconds,
            0.95 * plan_parts(4097, 4099, Cuts::never, planner(promoted_shapes, 4101)).microseconds);
  // Nothing is left over, or nearly a tile, or all is over so soon that a launch would show.
  EXPECT_EQ(plan_parts(4096, 4096, Cuts::wherever, planner(tile_shapes, 4096)).count, 1);
  EXPECT_EQ(plan_parts(4095, 4096, Cuts::model, planner(tile_shapes, 4096)).count, 1);
  EXPECT_EQ(plan_parts(257, 4099, Cuts::model, planner(tile_shapes, 512)).count, 1);
  // Wherever there is a remainder: rows and columns beyond 256, and beyond 64 where there are fewer.
  const PlannedParts all = plan_parts(300, 100, Cuts::wherever, planner(tile_shapes, 100));
  ASSERT_EQ(all.count, 3);
  EXPECT_EQ(all.part[0].rows, 256);
  EXPECT_EQ(all.part[0].cols, 64);
  EXPECT_EQ(all.part[1].col, 64);
  EXPECT_EQ(all.part[2].row, 256);
  EXPECT_EQ(all.part[2].cols, 100);
  EXPECT_EQ(plan_parts(40, 30, Cuts::wherever, planner(tile_shapes, 100)).count, 1);
}

}  // namespace
}  // namespace tessera::matmul
