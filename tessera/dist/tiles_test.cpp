// SPDX-License-Identifier: Apache-2.0
// Tiles for devices that pay whole blocks of a result, on a virtual clock: what a queue of them takes beside the
// best of all splits by rows that somebody could have named.
#include "tessera/dist/tiles.hpp"
#include <gtest/gtest.h>
#include <algorithm>
#include <cmath>
#include "tessera/core/division.hpp"
#include "tessera/dist/clock.hpp"
#include "tessera/dist/queue.hpp"
#include "tessera/run/inputs.hpp"
#include "tessera/run/paid_unit.hpp"

namespace tessera::dist {
namespace {

Case product_of(std::int64_t m, std::int64_t n, std::int64_t k) { return {{{"m", m}, {"n", n}, {"k", k}}}; }

// A device of so many threads, each of which does a block of that many rows and columns in a unit of time.
struct Blocks {
  std::int64_t rows, cols, threads;
  double seconds_of_block = 1;

  double seconds(std::int64_t r, std::int64_t c) const {
    const auto blocks = ((r + rows - 1) / rows) * ((c + cols - 1) / cols);
    return static_cast<double>((blocks + threads - 1) / threads) * seconds_of_block;
  }
};

double best_by_rows(const std::vector<Blocks>& devices, std::int64_t m, std::int64_t n) {
  double best = INFINITY;
  for (std::int64_t first = 0; first <= m; first += 16)
    best = std::min(best, std::max(devices[0].seconds(first, n), devices[1].seconds(m - first, n)));
  return best;
}

double by_queue(const Division& division, const Arguments& arguments, const std::vector<Blocks>& devices,
                const std::vector<double>& guesses, Queue::Dealing dealing) {
  Unit unit = common_unit({{devices[0].rows, devices[0].cols}, {devices[1].rows, devices[1].cols}});
  const std::int64_t threads = std::max(devices[0].threads, devices[1].threads);
  unit.cols *= threads;
  const auto tiles = tiles_of(division, arguments, {0, division.rows}, {.wanted = 64, .least_flops = 1, .unit = unit});
  std::vector<double> work;
  for (const Tile& tile : tiles) work.push_back(work_of(division, tile, unit));
  Queue queue(work, guesses, dealing, 1);
  Behaviour behaviour;
  behaviour.done = [&](std::size_t d, std::size_t tile, double now) {
    return now + devices[d].seconds(tiles[tile].rows.size(), tiles[tile].cols.size());
  };
  return run_virtually(queue, devices.size(), behaviour).end();
}

TEST(TilesOfBlocks, QueuesOfThemComeNearTheBestSplitByRows) {
  struct Pair {
    std::vector<Blocks> devices;
    std::vector<double> guesses;
  };
  // Like executors; one of two threads; one twice as fast, which nobody knows; processors that are 2000 times as fast.
  const std::vector<Pair> pairs{{{{128, 128, 1}, {128, 128, 1}}, {1, 1}},
                                {{{128, 128, 1}, {128, 128, 2}}, {1, 2}},
                                {{{16, 16, 1, 2e-2}, {16, 16, 1, 1e-2}}, {1, 1}},
                                {{{128, 128, 1, 5e-4}, {128, 128, 1}}, {1000, 1}}};
  for (const auto& [m, n] : {std::pair{640, 640}, {768, 768}, {900, 1000}, {1024, 512}, {2000, 2100}, {256, 3000}}) {
    Inputs inputs(*find_operation("matmul"), Element::f32, product_of(m, n, 1), 3);
    const Division division = (*find_division("matmul"))(inputs.arguments());
    for (const Pair& pair : pairs)
      for (const auto dealing : {Queue::Dealing::dynamic, Queue::Dealing::measured}) {
        const double took = by_queue(division, inputs.arguments(), pair.devices, pair.guesses, dealing);
        EXPECT_LE(took, 1.10 * best_by_rows(pair.devices, m, n))
            << m << " " << n << " " << pair.guesses[0] << " " << pair.devices[1].threads << " "
            << static_cast<int>(dealing);
      }
  }
}

TEST(TilesOfBlocks, CutsLieBetweenUnits) {
  Inputs inputs(*find_operation("matmul"), Element::f32, product_of(1000, 700, 8), 3);
  const Division division = (*find_division("matmul"))(inputs.arguments());
  for (const Unit& unit : {Unit{128, 128}, Unit{128, 256}, Unit{48, 1}, Unit{64, 32}}) {
    std::int64_t elements = 0;
    for (const Tile& tile : tiles_of(division, inputs.arguments(), {0, 1000}, {.least_flops = 1, .unit = unit})) {
      EXPECT_EQ(tile.rows.first % unit.rows, 0);
      EXPECT_EQ(tile.cols.first % unit.cols, 0);
      elements += tile.rows.size() * tile.cols.size();
    }
    EXPECT_EQ(elements, 700'000);
  }
  // What memory does not hold is cut all the same.
  for (const Tile& tile :
       tiles_of(division, inputs.arguments(), {0, 1000}, {.least_flops = 1, .memory_bytes = 8000, .unit = {128, 128}}))
    EXPECT_LE(bytes_of(division, inputs.arguments(), tile), 8000);
}

TEST(TilesOfBlocks, WhatIsLeftOverCostsAWholeUnit) {
  Inputs inputs(*find_operation("matmul"), Element::f32, product_of(300, 200, 10), 3);
  const Division division = (*find_division("matmul"))(inputs.arguments());
  const Tile tile{{256, 300}, {0, 200}, {0, 10}};
  EXPECT_EQ(work_of(division, tile, {}), 44 * 200 * 20);
  EXPECT_EQ(work_of(division, tile, {128, 128}), 128 * 256 * 20);
}

TEST(TilesOfBlocks, UnitsOfSeveralDevicesAreJoined) {
  EXPECT_EQ(common_unit({{128, 128}, {1, 1}, {16, 16}}), (Unit{128, 128}));
  EXPECT_EQ(common_unit({{48, 64}, {32, 64}}), (Unit{96, 64}));
  EXPECT_EQ(common_unit({{1021, 1}, {1024, 1}}), (Unit{1021, 1}));  // nobody wants a million rows
}

TEST(PaidUnit, IsWhatABlockWrites) {
  Inputs inputs(*find_operation("matmul"), Element::f32, product_of(300, 300, 8), 3);
  const Division division = (*find_division("matmul"))(inputs.arguments());
  const auto unit = [&](const char* device, const char* variant, Tuning tuning = {}) {
    const Request request{.variant = variant, .tuning = tuning, .cached = false};
    return paid_unit(choose_on(find_device(device), *find_operation("matmul"), inputs.arguments(), request),
                     inputs.arguments(), division);
  };
  EXPECT_EQ(unit("simt:threads=1", "vectorized"), (Unit{128, 128}));
  EXPECT_EQ(unit("simt:threads=2", "vectorized"), (Unit{128, 256}));
  EXPECT_EQ(unit("simt:threads=4", "vectorized"), (Unit{256, 384}));  // three blocks lie side by side
  EXPECT_EQ(unit("simt:threads=1", "shared_tiles"), (Unit{16, 16}));
  EXPECT_EQ(unit("simt:threads=1", "shared_tiles", {{"tile", 8}}), (Unit{8, 8}));
  EXPECT_EQ(unit("simt:threads=1", "row_per_thread"), (Unit{64, 1}));
  EXPECT_EQ(unit("simt:threads=1", "one_block"), (Unit{1, 1}));
  EXPECT_EQ(unit("cpu:threads=1", "simd"), (Unit{1, 1}));
}

TEST(FullLaunches, AreAsManyAsKeepAllMultiprocessorsAtWork) {
  Inputs inputs(*find_operation("matmul"), Element::f32, product_of(512, 512, 8), 3);
  const auto launches = [&](const char* device, const char* variant, int processors) {
    tessera::Plan plan = choose_on(find_device(device), *find_operation("matmul"), inputs.arguments(), {.variant = variant, .cached = false});
    plan.device.processors = processors;
    return full_launches(plan, inputs.arguments());
  };
  EXPECT_EQ(launches("simt", "shared_tiles", 16), 512 * 512 / (16 * 512));  // a thread for each element
  EXPECT_EQ(launches("simt", "vectorized", 4), 2);                          // 16 blocks of 256
  EXPECT_EQ(launches("simt", "vectorized", 132), 1);
  EXPECT_EQ(launches("simt", "one_block", 132), 1);
  EXPECT_FALSE(launches("cpu", "simd", 8).has_value());
}

}  // namespace
}  // namespace tessera::dist
