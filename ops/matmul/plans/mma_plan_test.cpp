// SPDX-License-Identifier: Apache-2.0
// Rung 12's layout in shared memory, and its plans.
#include <cmath>
#include <gtest/gtest.h>
#include <random>
#include <set>
#include <vector>
#include "ops/matmul/plans/mma_plan.hpp"

namespace tessera::matmul {
namespace {

// True if accesses of `width` bytes each are in different banks.
bool apart(const std::vector<int>& offsets, int width) {
  std::set<int> met;
  for (const int offset : offsets)
    if (offset % width != 0 || !met.insert(offset % 128 / width).second) return false;
  return true;
}

// Each element of a stage is written once, by neighbouring threads to different banks.
template <class Panel, int threads>
void expect_copies(int unit) {
  using ThreadMap = MmaThreadMap<Panel, threads>;
  std::vector<int> written(Panel::size / Panel::bytes);
  for (int pass = 0; pass < ThreadMap::passes(unit); ++pass) {
    std::vector<int> group;
    for (int thread = 0; thread < threads; ++thread) {
      const auto own = ThreadMap::first(thread, unit);
      const int row = own.row + pass * ThreadMap::step(unit);
      const int offset =
          Panel::advance_rows(Panel::offset_in_row(own.row, own.at), pass * ThreadMap::step(unit));
      for (int e = 0; e < unit; ++e) {
        const int line = Panel::along == Along::k ? row : own.at + e,
                  k = Panel::along == Along::k ? own.at + e : row;
        EXPECT_EQ(Panel::offset(line, k), offset + e * Panel::bytes);
        ++written.at(static_cast<std::size_t>(line * Panel::depth + k));
      }
      group.push_back(offset);
      if (static_cast<int>(group.size()) * unit * Panel::bytes == 128) {
        EXPECT_TRUE(apart(group, unit * Panel::bytes));
        group.clear();
      }
    }
  }
  for (const int count : written) EXPECT_EQ(count, 1);
}

// Lanes that load together access different banks, in every block of 16 lines.
template <class Panel>
void expect_loads(int line, int fragment) {
  if constexpr (Panel::bytes == 8) {
    for (int half = 0; half < 2; ++half)
      for (int s = 0; s < 4; ++s)
        for (int first = 0; first < 32; first += 16) {
          std::vector<int> offsets;
          for (int lane = first; lane < first + 16; ++lane)
            offsets.push_back(MmaLoads64<Panel>(line, lane).offset(fragment, half, s));
          EXPECT_TRUE(apart(offsets, 8));
        }
  } else {
    for (int step = 0; step < Panel::depth / 16; ++step)
      for (int matrix = 0; matrix < 4; ++matrix) {
        std::vector<int> rows;
        for (int i = 0; i < 8; ++i)
          rows.push_back(MmaLoads16<Panel>(line, 8 * matrix + i).offset(fragment, step));
        EXPECT_TRUE(apart(rows, 16));
      }
  }
}

template <int bytes, int lines, int threads, int warp_lines>
void expect_panels() {
  const auto expect = [&]<class Panel>() {
    // 16-bit elements are always written in pieces.
    for (const int unit : bytes == 8 ? std::vector{1, 2} : std::vector{8})
      expect_copies<Panel, threads>(unit);
    for (int line = 0; line < lines; line += warp_lines)
      for (int fragment = 0; fragment < warp_lines / 16; ++fragment) expect_loads<Panel>(line, fragment);
  };
  expect.template operator()<MmaPanel<bytes, lines, Along::k>>();
  expect.template operator()<MmaPanel<bytes, lines, Along::lines>>();
}

template <int bytes, MmaConfig config>
void expect_tile() {
  SCOPED_TRACE(std::to_string(bytes) + " bytes, " + std::to_string(config.rows) + " × " +
               std::to_string(config.cols));
  expect_panels<bytes, config.rows, config.slice_threads(), config.warp_rows>();
  expect_panels<bytes, config.cols, config.slice_threads(), config.warp_cols>();
}

// mma_emulated_test checks the products.
TEST(MmaLayout, StagesOfEveryTileAreCopiedAndLoadedWithoutConflicts) {
  [&]<std::size_t... tile>(std::index_sequence<tile...>) { (expect_tile<8, mma_f64_tiles[tile]>(), ...); }
  (std::make_index_sequence<std::size(mma_f64_tiles)>{});
  [&]<std::size_t... tile>(std::index_sequence<tile...>) { (expect_tile<2, mma_half_tiles[tile]>(), ...); }
  (std::make_index_sequence<std::size(mma_half_tiles)>{});
}

template <int sum_bytes, int cols>
void expect_results(int rows) {
  std::set<int> offsets;
  for (int row = 0; row < rows; ++row)
    for (int col = 0; col < cols; ++col) {
      const int offset = mma_result_offset<sum_bytes, cols>(row, col);
      EXPECT_TRUE(offset >= 0 && offset < rows * cols * sum_bytes && offset % sum_bytes == 0);
      offsets.insert(offset);
      // Pairs are written at once.
      EXPECT_EQ((mma_result_offset<sum_bytes, cols>(row, col ^ 1)),
                offset + (col % 2 == 0 ? sum_bytes : -sum_bytes));
    }
  EXPECT_EQ(static_cast<int>(offsets.size()), rows * cols);
  for (int half = 0; half < 2; ++half)
    for (int below = 0; below < 2; ++below) {
      std::vector<int> written;
      for (int lane = 0; lane < 32; ++lane) {
        const RowAndCol at = mma_result(lane, half, below);
        written.push_back(mma_result_offset<sum_bytes, cols>(at.row, at.col));
        if (static_cast<int>(written.size()) * 2 * sum_bytes == 128) {
          EXPECT_TRUE(apart(written, 2 * sum_bytes));
          written.clear();
        }
      }
    }
}

TEST(MmaLayout, ResultsLeaveWithoutConflicts) {
  expect_results<8, 32>(64);
  expect_results<8, 32>(16);
  expect_results<4, 32>(64);
}

// Column-major results do not overlap, and concurrent accesses of a warp are in different banks.
template <int sum_bytes, int rows>
void expect_column_results(int cols) {
  std::set<int> offsets;
  for (int col = 0; col < cols; ++col)
    for (int row = 0; row < rows; ++row) {
      const int offset = mma_column_offset<sum_bytes, rows>(row, col);
      EXPECT_EQ(offset, (mma_column_offset<sum_bytes, rows>(0, col) + row * sum_bytes));
      EXPECT_TRUE(offset >= 0 && offset % sum_bytes == 0);
      offsets.insert(offset);
    }
  EXPECT_EQ(static_cast<int>(offsets.size()), rows * cols);
  EXPECT_LE(*offsets.rbegin() + sum_bytes, cols * (rows * sum_bytes + 16));
  std::vector<int> written;
  for (int lane = 0; lane < 128 / sum_bytes; ++lane) {
    const RowAndCol at = mma_result(lane, 0, 0);
    written.push_back(mma_column_offset<sum_bytes, rows>(at.row, at.col));
  }
  EXPECT_TRUE(apart(written, sum_bytes));
}

TEST(MmaLayout, ResultsInColumnsLeaveWithoutConflicts) {
  expect_column_results<8, 64>(32);
  expect_column_results<8, 16>(32);
  expect_column_results<4, 64>(32);
}

constexpr MmaMachine h200{132, 227 * 1024};

void expect_covered(const MmaElement& element, const MmaPlan& plan, std::int64_t m, std::int64_t n,
                    std::int64_t k) {
  const MmaConfig& tile = element.tiles[static_cast<std::size_t>(plan.tile)];
  const int depth = 128 / element.bytes;
  ASSERT_TRUE(std::int64_t{plan.order.rows} * tile.rows >= m &&
              std::int64_t{plan.order.rows - 1} * tile.rows < m);
  ASSERT_TRUE(std::int64_t{plan.order.cols} * tile.cols >= n &&
              std::int64_t{plan.order.cols - 1} * tile.cols < n);
  ASSERT_EQ(plan.k_stages, (k + depth - 1) / depth);
  // Splits are not empty, and together cover the sum.
  ASSERT_GE(std::int64_t{plan.split_k_stages} * plan.order.splits, plan.k_stages);
  if (plan.order.splits == 1) return;
  ASSERT_LT(std::int64_t{plan.split_k_stages} * (plan.order.splits - 1), plan.k_stages);
  ASSERT_LE(plan.order.count() * tile.rows * tile.cols * element.sum_bytes, max_mma_partial_bytes);
}

TEST(MmaPlan, CoversAnyShapeAndItsSum) {
  std::mt19937 random(3);
  const auto size = [&] {
    return static_cast<std::int64_t>(std::exp2(static_cast<double>(random() % 1500) / 100));
  };
  for (int i = 0; i < 1000; ++i) {
    const MmaElement& element = random() % 2 == 0 ? mma_f64 : mma_half;
    const std::int64_t m = size(), n = size(), k = random() % 20 == 0 ? 0 : size();
    const MmaMachine machine{static_cast<int>(random() % 200 + 1),
                             random() % 2 == 0 ? 227 * 1024 : 99 * 1024};
    const MmaOptions options{
        .tile = static_cast<int>(random() % 10), .splits = static_cast<int>(random() % 33), .group = 0};
    const MmaPlan plan = plan_mma(element, m, n, k, machine, random() % 2 == 0 ? options : MmaOptions{});
    ASSERT_LE(element.tiles[static_cast<std::size_t>(plan.tile)].shared_bytes(), machine.shared_bytes);
    ASSERT_GE(plan.order.raster_rows, 1);
    ASSERT_NO_FATAL_FAILURE(expect_covered(element, plan, m, n, k)) << m << " " << n << " " << k;
  }
}

TEST(MmaPlan, KnownShapes) {
  const auto f64 = [](std::int64_t m, std::int64_t n, std::int64_t k) {
    return plan_mma(mma_f64, m, n, k, h200);
  };
  EXPECT_EQ(f64(8192, 8192, 8192).tile, 0);
  EXPECT_EQ(f64(8192, 8192, 8192).order.splits, 1);
  // Sliced tiles: 32 × 32, or 16 × 32 if that gives too few blocks.
  EXPECT_EQ(f64(512, 512, 512).tile, 5);
  for (const std::int64_t size : {64, 128, 256}) EXPECT_GE(f64(size, size, size).tile, 6);
  EXPECT_EQ(f64(512, 512, 512).order.splits, 1);
  EXPECT_EQ(f64(1024, 1024, 1024).tile,
            2);  // 256 tiles of 64 × 64, two blocks on each of 132 multiprocessors
  // Few results of long sums: nearly as many parts as multiprocessors, each in slices.
  EXPECT_GE(f64(16, 24, 10864).tile, 5);
  EXPECT_GT(f64(16, 24, 10864).order.count(), 40);
  EXPECT_GT(f64(16, 248, 5488).order.count(), 60);
  EXPECT_EQ(f64(16, 8192, 8192).tile, 4);
  EXPECT_GT(f64(128, 4096, 7168).order.splits, 1);
  EXPECT_EQ(f64(1, 1, 0).k_stages, 0);
  EXPECT_EQ(plan_mma(mma_half, 8192, 8192, 8192, h200).tile, 0);
  EXPECT_EQ(plan_mma(mma_half, 512, 512, 512, h200).tile, 1);
  // 64 × 64 tiles, one for each of 100 multiprocessors.
  EXPECT_EQ(plan_mma(mma_f64, 640, 640, 4096, {100, 227 * 1024}).tile, 2);
}

TEST(MmaPlan, TheCostModelCountsSlowerCopies) {
  const auto cycles = [](std::int64_t k, MmaOptions options) {
    return plan_mma(mma_f64, 2048, 2048, k, h200, options).cycles;
  };
  EXPECT_GT(cycles(2048, {.tile = 1}), cycles(1024, {.tile = 1}));
  EXPECT_GT(cycles(512, {.tile = 1, .splits = 2}), cycles(512, {.tile = 1, .splits = 1}));
  EXPECT_GT(cycles(2048, {.tile = 4}), cycles(2048, {.tile = 1}));
  // Lines of an odd number of doubles: wide tiles need fewer copies.
  EXPECT_EQ(plan_mma(mma_f64, 463, 3470, 83, h200, {}, false).tile, 1);
  EXPECT_GT(plan_mma(mma_f64, 2048, 2048, 2048, h200, {.tile = 8}, false).cycles,
            1.2 * cycles(2048, {.tile = 8}));
  // 128 · 128 · 16 multiply-adds at 128 a cycle, in 128 stages of two tiles each: a lower bound for any
  // model.
  EXPECT_GT(cycles(2048, {.tile = 1}), 2 * 128 * 2048.0);
}

TEST(MmaPlan, HonoursRequestedOptionsWherePossible) {
  EXPECT_EQ(plan_mma(mma_f64, 4096, 4096, 4096, h200, {.tile = 3}).tile, 2);
  EXPECT_NE(plan_mma(mma_f64, 4096, 4096, 4096, {84, 99 * 1024}, {.tile = 1}).tile,
            0);  // exceeds shared memory
  EXPECT_EQ(plan_mma(mma_f64, 256, 256, 4096, h200, {.splits = 4}).order.splits, 4);
  EXPECT_EQ(plan_mma(mma_f64, 256, 256, 4096, h200, {.tile = 6, .splits = 4}).order.splits,
            4);                                                                          // of a sliced tile
  EXPECT_EQ(plan_mma(mma_f64, 16, 32, 65536, h200, {.splits = 132}).order.splits, 128);  // 32 stages each
  EXPECT_EQ(plan_mma(mma_f64, 16384, 16384, 4096, h200, {.splits = 8}).order.splits,
            1);  // exceeds the workspace
  EXPECT_EQ(plan_mma(mma_f64, 4096, 4096, 4096, h200, {.group = 5}).order.raster_rows, 5);
  // An int holds the number of tiles in a scheduler's band.
  EXPECT_EQ(
      plan_mma(mma_f64, 16, std::int64_t{1} << 30, 64, h200, {.tile = 8, .group = 64}).order.raster_rows, 1);
}

}  // namespace
}  // namespace tessera::matmul
