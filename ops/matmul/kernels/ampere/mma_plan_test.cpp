// SPDX-License-Identifier: Apache-2.0
// Rung 12's layout, put together as the tensor cores do, and its plans.
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <random>
#include <set>
#include <tuple>
#include <vector>
#include "ops/matmul/kernels/ampere/mma_plan.hpp"

namespace tessera::matmul {
namespace {

template <int bytes>
using Number = std::conditional_t<bytes == 8, double, std::int16_t>;

template <class T>
T read(const std::vector<unsigned char>& memory, int place) {
  T out;
  std::memcpy(&out, &memory.at(static_cast<std::size_t>(place)), sizeof out);
  return out;
}

// Of `width` bytes each: whether they lie in different banks.
bool apart(const std::vector<int>& places, int width) {
  std::set<int> met;
  for (const int place : places)
    if (place % width != 0 || !met.insert(place % 128 / width).second) return false;
  return true;
}

// lines × depth, written as the threads copy it.
template <class Panel, int threads>
std::vector<unsigned char> copied(const std::vector<Number<Panel::bytes>>& x, int unit) {
  using Share = MmaShare<Panel, threads>;
  using T = Number<Panel::bytes>;
  std::vector<unsigned char> panel(Panel::size);
  std::vector<int> written(x.size());
  for (int pass = 0; pass < Share::passes(unit); ++pass) {
    std::vector<int> group;
    for (int thread = 0; thread < threads; ++thread) {
      const auto own = Share::first(thread, unit);
      const int row = own.row + pass * Share::step(unit);
      const int place = Panel::below(Panel::place_in_row(own.row, own.at), pass * Share::step(unit));
      for (int e = 0; e < unit; ++e) {
        const int line = Panel::along == Along::k ? row : own.at + e,
                  k = Panel::along == Along::k ? own.at + e : row;
        const auto i = static_cast<std::size_t>(line * Panel::depth + k);
        EXPECT_EQ(Panel::place(line, k), place + e * Panel::bytes);
        std::memcpy(&panel.at(static_cast<std::size_t>(place + e * Panel::bytes)), &x.at(i), sizeof(T));
        ++written[i];
      }
      group.push_back(place);
      if (static_cast<int>(group.size()) * unit * Panel::bytes == 128) {
        EXPECT_TRUE(apart(group, unit * Panel::bytes));
        group.clear();
      }
    }
  }
  for (const int count : written) EXPECT_EQ(count, 1);
  return panel;
}

// What lanes hold of a block of 16 lines by 16 steps of k: [lane][half][register], a register of 16 bits
// holding two.
struct Held {
  double value[32][2][4];
};

template <class Panel>
Held loaded(const std::vector<unsigned char>& panel, int line, int block, int step) {
  Held out{};
  if constexpr (Panel::bytes == 8) {
    EXPECT_EQ(step, 0);
    for (int half = 0; half < 2; ++half)
      for (int s = 0; s < 4; ++s) {
        std::vector<int> places;
        for (int lane = 0; lane < 32; ++lane) {
          places.push_back(MmaLoads64<Panel>(line, lane).place(block, half, s));
          out.value[lane][half][s] = read<double>(panel, places.back());
          if (places.size() == 16) {
            EXPECT_TRUE(apart(places, 8));
            places.clear();
          }
        }
      }
  } else {
    for (int matrix = 0; matrix < 4; ++matrix) {
      std::vector<int> rows;
      for (int i = 0; i < 8; ++i) rows.push_back(MmaLoads16<Panel>(line, 8 * matrix + i).place(block, step));
      EXPECT_TRUE(apart(rows, 16));
      for (int lane = 0; lane < 32; ++lane)
        for (int e = 0; e < 2; ++e) {
          const int near = lane / 4, far = lane % 4 * 2 + e;  // transposed: the column, the row
          const int place = Panel::along == Along::k ? rows[static_cast<std::size_t>(near)] + 2 * far
                                                     : rows[static_cast<std::size_t>(far)] + 2 * near;
          out.value[lane][matrix % 2][matrix / 2 * 2 + e] = read<std::int16_t>(panel, place);
        }
    }
  }
  return out;
}

// The manual's "Matrix Fragments for mma.m16n8k16": of 64-bit floats, and of 16-bit ones.
RowAndCol place_in_a(int bytes, int lane, int i) {
  const int group = lane / 4, in_group = lane % 4;
  if (bytes == 8)
    return {i % 2 == 0 ? group : group + 8, i % 2 == 0 ? i * 2 + in_group : i * 2 - 2 + in_group};
  return {i < 2 || (i >= 4 && i < 6) ? group : group + 8, in_group * 2 + (i & 1) + (i >= 4 ? 8 : 0)};
}
RowAndCol place_in_b(int bytes, int lane, int i) {
  const int group = lane / 4, in_group = lane % 4;
  if (bytes == 8) return {in_group + i * 4, group};
  return {in_group * 2 + (i & 1) + (i >= 2 ? 8 : 0), group};
}
RowAndCol place_in_c(int lane, int i) { return {i < 2 ? lane / 4 : lane / 4 + 8, lane % 4 * 2 + (i & 1)}; }

// d[lane][i] += what the instruction gives for a's block and half of b's, in the order in which the kernel
// hands them over.
void multiply(int bytes, const Held& a, const Held& b, int half, double (&d)[32][4]) {
  double left[16][16], right[16][8];
  for (int lane = 0; lane < 32; ++lane) {
    for (int i = 0; i < 8; ++i) {
      const RowAndCol at = place_in_a(bytes, lane, i);
      // 16 bits: register i / 2 is half i / 2 % 2 at steps i / 4.
      left[at.row][at.col] =
          bytes == 8 ? a.value[lane][i % 2][i / 2] : a.value[lane][i / 2 % 2][i / 4 * 2 + i % 2];
    }
    for (int i = 0; i < 4; ++i) {
      const RowAndCol at = place_in_b(bytes, lane, i);
      right[at.row][at.col] = b.value[lane][half][i];
    }
  }
  for (int lane = 0; lane < 32; ++lane)
    for (int i = 0; i < 4; ++i) {
      const RowAndCol at = place_in_c(lane, i);
      for (int k = 0; k < 16; ++k) d[lane][i] += left[at.row][k] * right[k][at.col];
    }
}

template <class T>
std::vector<T> random_numbers(int count, std::mt19937& random) {
  std::vector<T> out(static_cast<std::size_t>(count));
  for (T& x : out) x = static_cast<T>(static_cast<int>(random() % 201) - 100);
  return out;
}

template <int bytes, MmaConfig config, Along along_a, Along along_b>
void expect_product(int unit) {
  using A = MmaPanel<bytes, config.rows, along_a>;
  using B = MmaPanel<bytes, config.cols, along_b>;
  using T = Number<bytes>;
  std::mt19937 random(1);
  const auto a = random_numbers<T>(config.rows * A::depth, random),
             b = random_numbers<T>(config.cols * B::depth, random);
  const auto panel_a = copied<A, config.slice_threads()>(a, unit),
             panel_b = copied<B, config.slice_threads()>(b, unit);
  std::vector<int> met(static_cast<std::size_t>(config.rows * config.cols));
  int wrong = 0;
  for (int warp = 0; warp < config.slice_threads() / 32; ++warp) {
    const int row = warp / config.warps_across() * config.warp_rows,
              col = warp % config.warps_across() * config.warp_cols;
    for (int i = 0; i < config.warp_rows / 16; ++i)
      for (int j = 0; j < config.warp_cols / 16; ++j)
        for (int half = 0; half < 2; ++half) {
          double d[32][4] = {};
          for (int step = 0; step < A::depth / 16; ++step)
            multiply(bytes, loaded<A>(panel_a, row, i, step), loaded<B>(panel_b, col, j, step), half, d);
          for (int lane = 0; lane < 32; ++lane)
            for (int e = 0; e < 4; ++e) {
              const RowAndCol at = mma_result(lane, half, e / 2);
              const int y = row + 16 * i + at.row, x = col + 16 * j + at.col + e % 2;
              double sum = 0;
              for (int k = 0; k < A::depth; ++k)
                sum += double(a[static_cast<std::size_t>(y * A::depth + k)]) *
                       double(b[static_cast<std::size_t>(x * A::depth + k)]);
              wrong += d[lane][e] != sum;
              ++met[static_cast<std::size_t>(y * config.cols + x)];
            }
        }
  }
  EXPECT_EQ(wrong, 0);
  for (const int count : met) ASSERT_EQ(count, 1);
}

template <int bytes, MmaConfig config>
void expect_products() {
  SCOPED_TRACE(std::to_string(bytes) + " bytes, " + std::to_string(config.rows) + " × " +
               std::to_string(config.cols));
  // 16-bit elements are written in pieces however they are read.
  for (const int unit : bytes == 8 ? std::vector{1, 2} : std::vector{8}) {
    expect_product<bytes, config, Along::k, Along::k>(unit);
    expect_product<bytes, config, Along::k, Along::lines>(unit);
    expect_product<bytes, config, Along::lines, Along::k>(unit);
    expect_product<bytes, config, Along::lines, Along::lines>(unit);
  }
}

TEST(MmaLayout, EveryStageOfEveryTileMultipliesAsTheManualSays) {
  [&]<std::size_t... tile>(std::index_sequence<tile...>) { (expect_products<8, mma_f64_tiles[tile]>(), ...); }
  (std::make_index_sequence<std::size(mma_f64_tiles)>{});
  [&]<std::size_t... tile>(std::index_sequence<tile...>) {
    (expect_products<2, mma_half_tiles[tile]>(), ...);
  }
  (std::make_index_sequence<std::size(mma_half_tiles)>{});
}

template <int sum_bytes, int cols>
void expect_results(int rows) {
  std::set<int> places;
  for (int row = 0; row < rows; ++row)
    for (int col = 0; col < cols; ++col) {
      const int place = mma_result_place<sum_bytes, cols>(row, col);
      EXPECT_TRUE(place >= 0 && place < rows * cols * sum_bytes && place % sum_bytes == 0);
      places.insert(place);
      // Two beside each other are written at once.
      EXPECT_EQ((mma_result_place<sum_bytes, cols>(row, col ^ 1)),
                place + (col % 2 == 0 ? sum_bytes : -sum_bytes));
    }
  EXPECT_EQ(static_cast<int>(places.size()), rows * cols);
  for (int half = 0; half < 2; ++half)
    for (int below = 0; below < 2; ++below) {
      std::vector<int> written;
      for (int lane = 0; lane < 32; ++lane) {
        const RowAndCol at = mma_result(lane, half, below);
        written.push_back(mma_result_place<sum_bytes, cols>(at.row, at.col));
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
