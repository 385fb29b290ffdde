// SPDX-License-Identifier: Apache-2.0
// How many waves of tiles a product takes: answers that the authors of other libraries give for theirs.
#include "ops/matmul/kernels/hopper/tile_plan.hpp"
#include <gtest/gtest.h>
#include <algorithm>
#include <cmath>

namespace tessera::matmul {
namespace {

// One block of so large a tile on each multiprocessor; a stage takes as long as its products.
TileShape tile(int rows, int cols) { return {rows, cols, 1, 1, 1e-3 * rows * cols, 1, 0}; }

struct Waves {
  std::int64_t tiles, waves, last;  // last: tiles of the last wave
};
// By the time that the plan tells: each wave takes as long.
Waves waves_of(const TileShape& shape, const TilePlan& plan, int processors) {
  const double waves = plan.microseconds / (plan.depth * shape.stage_us + shape.tile_us);
  EXPECT_NEAR(waves, std::round(waves), 1e-9);
  return {plan.units, std::llround(waves), plan.units - (std::llround(waves) - 1) * processors};
}
TilePlan plan_of(TileShapes shapes, std::int64_t m, std::int64_t n, int processors) {
  return plan_tiles(shapes, m, n, 4096, 64, processors, (1u << shapes.size()) - 1, {.splits = 1, .tail = 1});
}
Waves waves_of(const TileShape& shape, std::int64_t m, std::int64_t n, int processors) {
  return waves_of(shape, plan_of({&shape, 1}, m, n, processors), processors);
}

// DeepGEMM, README, "Unaligned block sizes": m = 256, n = 7168 in blocks of 128 × 128 keep 112 of an H100's
// 132 multiprocessors at work, in blocks of 128 × 112 they keep 128.
TEST(TileWaves, AsDeepGemmCountsThem) {
  const Waves aligned = waves_of(tile(128, 128), 256, 7168, 132),
              unaligned = waves_of(tile(128, 112), 256, 7168, 132);
  EXPECT_EQ(aligned.tiles, 112);
  EXPECT_EQ(unaligned.tiles, 128);
  EXPECT_EQ(aligned.waves, 1);
  EXPECT_EQ(unaligned.waves, 1);
  const TileShape both[] = {tile(128, 128), tile(128, 112)};
  EXPECT_EQ(plan_of(both, 256, 7168, 132).tile, 1);
}

// DeepGEMM's get_num_waves, ⌈⌈m/bm⌉·⌈n/bn⌉ / SMs⌉, for the shapes of its README and the blocks that it tries.
TEST(TileWaves, AreAsManyForEveryBlockThatDeepGemmTries) {
  for (const std::int64_t m : {64, 128, 4096})
    for (const std::int64_t n : {2112, 24576, 32768, 7168, 4096})
      for (const int rows : {64, 128})
        for (int cols = 16; cols <= 128; cols += 8) {
          const Waves waves = waves_of(tile(rows, cols), m, n, 132);
          const std::int64_t tiles = (m + rows - 1) / rows * ((n + cols - 1) / cols);
          ASSERT_EQ(waves.tiles, tiles);
          ASSERT_EQ(waves.waves, (tiles + 131) / 132) << m << " " << n << " by " << rows << " " << cols;
        }
}

// cuBLAS, in NVIDIA's "Matrix Multiplication Background User's Guide", "Wave Quantization": m = 2304, k =
// 4096 on an A100's 108 multiprocessors in tiles of 256 × 128. Up to n = 1536 there is one wave, and it is
// full; the next column begins another, and the time doubles.
TEST(TileWaves, AsMeasuredOfCublas) {
  const TileShape shape = tile(256, 128);
  const auto plan = [&](std::int64_t n) { return plan_of({&shape, 1}, 2304, n, 108); };
  const Waves full = waves_of(shape, plan(1536), 108), more = waves_of(shape, plan(1537), 108);
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

// fast.cu takes 128 of an H100's 132 multiprocessors for 8192³ in tiles of 128 × 256: 16 full waves, and no
// more with all.
TEST(TileWaves, OfAPowerOfTwoAreNoFewerOnAllMultiprocessors) {
  const Waves some = waves_of(tile(128, 256), 8192, 8192, 128),
              all = waves_of(tile(128, 256), 8192, 8192, 132);
  EXPECT_EQ(some.waves, 16);
  EXPECT_EQ(some.last, 128);
  EXPECT_EQ(all.waves, 16);
  EXPECT_EQ(all.last, 68);
}

// With the shapes that there are kernels of, a plan takes no more waves than any other tile of the same time
// would.
TEST(TileWaves, DecideBetweenTilesOfOneSpeed) {
  const TileShape shapes[] = {tile(128, 256), tile(128, 128), tile(64, 128)};
  for (std::int64_t n = 64; n <= 8192; n += 64) {
    const TilePlan plan = plan_of(shapes, 1024, n, 132);
    double least = 1e9;
    for (const TileShape& shape : shapes)
      least =
          std::min(least, static_cast<double>(waves_of(shape, 1024, n, 132).waves) * shape.rows * shape.cols);
    const TileShape& taken = shapes[plan.tile];
    const auto here = static_cast<double>(waves_of(taken, plan, 132).waves) * taken.rows * taken.cols;
    EXPECT_LE(here, least * 1.01) << n;
  }
}

}  // namespace
}  // namespace tessera::matmul
