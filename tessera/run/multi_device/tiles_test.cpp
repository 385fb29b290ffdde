// SPDX-License-Identifier: Apache-2.0
// Tests how results are cut, and the order of their tiles.
#include "tessera/run/multi_device/tiles.hpp"
#include <gtest/gtest.h>
#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include "tessera/run/inputs.hpp"
#include "tessera/run/multi_device/scheduler.hpp"

namespace tessera {
namespace {

using Parts = std::vector<Interval>;

TEST(SplitByShares, CutsAtMultiplesOfTheGranule) {
  const std::vector<double> shares{2, 1};
  EXPECT_EQ(split_by_shares(3072, 16, shares), (Parts{{0, 2048}, {2048, 3072}}));
  EXPECT_EQ(split_by_shares(100, 16, shares), (Parts{{0, 80}, {80, 100}}));
  EXPECT_EQ(split_by_shares(5, 16, shares), (Parts{{0, 5}, {5, 5}}));
  EXPECT_EQ(split_by_shares(0, 16, shares), (Parts{{0, 0}, {0, 0}}));
}

TEST(SplitByShares, GivesNothingForAZeroShare) {
  EXPECT_EQ(split_by_shares(64, 1, std::vector<double>{0, 3, 0, 1}),
            (Parts{{0, 0}, {0, 48}, {48, 48}, {48, 64}}));
}

TEST(SplitByShares, RefusesInvalidShares) {
  EXPECT_EQ(split_by_shares(64, 1, std::vector<double>{1e308, 1e308}), (Parts{{0, 32}, {32, 64}}));
  EXPECT_EQ(split_by_shares(64, 1, std::vector<double>{1e-320, 3e-320}), (Parts{{0, 16}, {16, 64}}));
  EXPECT_THROW(split_by_shares(64, 1, std::vector<double>{0, 0}), Error);
  EXPECT_THROW(split_by_shares(64, 1, std::vector<double>{1, -1}), Error);
  EXPECT_THROW(split_by_shares(64, 1, std::vector<double>{1, NAN}), Error);
  EXPECT_THROW(split_by_shares(64, 1, std::vector<double>{}), Error);
}

TEST(SplitByShares, CoversEveryExtent) {
  for (std::int64_t extent = 0; extent < 200; ++extent)
    for (const std::int64_t granule : {1, 7, 16}) {
      const auto parts = split_by_shares(extent, granule, std::vector<double>{1, 0.3, 5, 2.2});
      std::int64_t at = 0;
      for (const Interval& part : parts) {
        EXPECT_EQ(part.first, at);
        EXPECT_GE(part.size(), 0);
        EXPECT_TRUE(part.last % granule == 0 || part.last == extent);
        at = part.last;
      }
      EXPECT_EQ(at, extent);
    }
}

TEST(EvenParts, LeaveNoThinRemainder) {
  EXPECT_EQ(even_parts({0, 2080}, 2048, 16), (Parts{{0, 1040}, {1040, 2080}}));
  EXPECT_EQ(even_parts({32, 64}, 2048, 16), (Parts{{32, 64}}));
  EXPECT_TRUE(even_parts({5, 5}, 10, 16).empty());
  for (std::int64_t size = 1; size < 300; ++size)
    for (const std::int64_t most : {16, 40, 100}) {
      const auto parts = even_parts({16, 16 + size}, most, 16);
      EXPECT_EQ(parts.front().first, 16);
      EXPECT_EQ(parts.back().last, 16 + size);
      for (const Interval& part : parts) EXPECT_LE(part.size(), most);
    }
}

Case product_of(std::int64_t m, std::int64_t n, std::int64_t k) { return {{{"m", m}, {"n", n}, {"k", k}}}; }

// The end time of a device that reads the tiles' inputs over one link, keeps them, and computes once they are
// there.
double ends(const Partition& partition, const Arguments& arguments, const std::vector<Tile>& tiles,
            const std::vector<std::size_t>& order, double bytes_per_second, double flops_per_second) {
  std::set<Slice> here;
  double arrived = 0, computed = 0;
  for (const std::size_t tile : order) {
    for (const Slice& slice : partition.reads(tiles[tile]))
      if (here.insert(slice).second)
        arrived += static_cast<double>(bytes_of(slice, arguments.array(slice.array))) / bytes_per_second;
    computed = std::max(computed, arrived) + partition.flops(tiles[tile]) / flops_per_second;
  }
  return computed;
}

TEST(Tiles, FitTheMemoryOnEveryGrid) {
  const Arguments arguments = arguments_without_memory(*find_operation("matmul"), Element::f32,
                                                       {{{"m", 132}, {"n", 1526}, {"k", 204}}});
  const Partition partition = (*find_partition("matmul"))(arguments);
  for (const Grid& grid : {Grid{1, 2}, Grid{2, 1}, Grid{2, 3}})
    for (std::int64_t memory = 30'000; memory < 60'000; memory += 500)
      for (const Tile& tile : tiles_of(partition, arguments, {0, partition.rows},
                                       {.wanted = 40, .min_flops = 1, .memory_bytes = memory, .grid = grid}))
        EXPECT_LE(bytes_of(partition, arguments, tile), memory);
}

// Half of an f64 product of 16384 rows at the rates that one H200 showed, 54 TFLOP/s and 37.6 GB/s: row by
// row, the first row of tiles waits for all of B, and three more follow. The transfers add up to 86 ms, the
// computation to 81 ms.
TEST(GrowingSquares, TilesAreComputedWhileBothInputsArrive) {
  const auto view = [](std::int64_t rows, std::int64_t cols) {
    return ArrayView{nullptr, Element::f64, {rows, cols}, {cols, 1}};
  };
  const Arguments arguments{find_operation("matmul")->signature,
                            Element::f64,
                            {{"A", view(16384, 16384)}, {"B", view(16384, 16384)}},
                            {}};
  const Partition partition = (*find_partition("matmul"))(arguments);
  const auto tiles = tiles_of(partition, arguments, {0, partition.rows}, {.wanted = 64});
  ASSERT_EQ(tiles.size(), 64U);
  constexpr double link = 37.6e9, flops = 54e12;
  TileQueue queue(std::vector<double>(tiles.size(), 1.0), std::vector<double>{1.0, 1.0});
  queue.set_order(
      [&](std::size_t, const std::vector<std::size_t>& band) { return in_growing_squares(tiles, band); });
  for (const std::size_t device : {0U, 1U}) {
    std::vector<std::size_t> order;
    while (order.size() < tiles.size() / 2) {
      const auto tile = queue.take(device, 0);
      ASSERT_TRUE(tile);
      order.push_back(*tile);
      queue.commit(device, *tile, static_cast<double>(order.size()));
    }
    auto back_and_forth = order;
    std::ranges::sort(back_and_forth);
    EXPECT_TRUE(std::ranges::adjacent_find(back_and_forth) == back_and_forth.end());
    EXPECT_EQ(back_and_forth.back() - back_and_forth.front() + 1, order.size());
    const double by_rows = ends(partition, arguments, tiles, back_and_forth, link, flops),
                 by_both = ends(partition, arguments, tiles, order, link, flops);
    EXPECT_LT(by_both, 0.11);
    EXPECT_LT(by_both, 0.85 * by_rows);
  }
}

TEST(GrowingSquares, VisitEachTileOnceForAnyBand) {
  const Inputs inputs(*find_operation("matmul"), Element::f32, product_of(100, 70, 8), 3);
  const Partition partition = (*find_partition("matmul"))(inputs.arguments());
  const auto tiles =
      tiles_of(partition, inputs.arguments(), {0, partition.rows}, {.wanted = 30, .min_flops = 1});
  ASSERT_GT(tiles.size(), 20U);
  for (std::size_t first = 0; first <= tiles.size(); first += 3)
    for (std::size_t last = first; last <= tiles.size(); last += 2) {
      std::vector<std::size_t> band(last - first);
      std::iota(band.begin(), band.end(), first);
      auto order = in_growing_squares(tiles, band);
      std::ranges::sort(order);
      EXPECT_EQ(order, band);
    }
}

TEST(FullLaunches, FillAllMultiprocessors) {
  Inputs inputs(*find_operation("matmul"), Element::f32, product_of(512, 512, 8), 3);
  const auto launches = [&](const char* device, const char* variant, int multiprocessors) {
    Plan plan = choose_on(find_device(device), *find_operation("matmul"), inputs.arguments(),
                          {.variant = variant, .cached = false});
    plan.device.multiprocessors = multiprocessors;
    return full_launches(plan, inputs.arguments());
  };
  EXPECT_EQ(launches("simt", "shared_tiles", 16), 512 * 512 / (16 * 512));  // a thread for each element
  EXPECT_EQ(launches("simt", "vectorized", 4), 2);                          // 16 blocks of 256
  EXPECT_EQ(launches("simt", "vectorized", 132), 1);
  EXPECT_EQ(launches("simt", "one_block", 132), 1);
  EXPECT_FALSE(launches("cpu", "simd", 8).has_value());
}

}  // namespace
}  // namespace tessera
