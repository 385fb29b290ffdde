// SPDX-License-Identifier: Apache-2.0
// Rung 11's kernels, unchanged, on the executor: asynchronous copies that complete as late or as early as
// possible, and partial sums of several blocks. Sums are of integers, so results are exact.
#include "cuda.hpp"
#include "ops/matmul/kernels/simt/warp_kernel.cuh"
#include <gtest/gtest.h>
#include <cmath>
#include <limits>
#include <random>
#include <vector>
#include "tessera/kernel.hpp"

namespace tessera::matmul {
namespace {

// A problem and its layout: `ahead` elements from an aligned address, lines `more` elements longer.
struct Shape {
  std::int64_t m, n, k;
  bool a_rows = true, b_rows = true;
  int more = 0, ahead = 0;
  bool c0 = false, c_cols = false;  // C0 is given; C's columns are contiguous
  // Data-parallel tiles, and iterations of a stream-K block; 0: those of the plan for `splits`.
  int data_parallel_tiles = 0, iterations_per_block = 0, splits = 1;
};

struct Numbers {
  std::vector<float> numbers;
  Matrix<const float> view;

  Numbers(std::int64_t rows, std::int64_t cols, bool by_rows, const Shape& s, std::mt19937& random) {
    const std::int64_t step = (by_rows ? cols : rows) + s.more;
    numbers.resize(static_cast<std::size_t>((by_rows ? rows : cols) * step + s.ahead + 4));
    for (float& x : numbers) x = static_cast<float>(random() % 9) - 4;
    const auto at = reinterpret_cast<std::uintptr_t>(numbers.data());
    view = {numbers.data() + (16 - at % 16) % 16 / sizeof(float) + s.ahead,
            {rows, cols},
            {by_rows ? step : 1, by_rows ? 1 : step}};
  }
};

template <int tile, Access a, Access b>
bool execute_if(const WarpLaunch& launch) {
  if (launch.tile != tile || launch.a != a || launch.b != b) return false;
  Device device;  // one thread, because shared memory is static
  Run run{.device = &device};
  using Kernel = WarpTiles<float, warp_tiles[tile], a, b>;
  launch_kernel<Kernel>({.grid = {launch.args.stream_k.blocks()}, .block = {Kernel::threads}}, launch.args,
                        run);
  if (launch.args.stream_k.slots() == 0) return true;
  const WarpPartials<float> partials = partials_of(launch);
  with_reduction(partials, cuda::ptx::copies_are_late ? 1 : usual_enough_blocks,
                 [&]<class Add> { launch_kernel<Add>(Add::launch(partials), partials, run); });
  return true;
}

bool execute(const WarpLaunch& launch) {
  constexpr Access along_k = Access::along_k, along_mn = Access::along_mn, vector = Access::vector;
  return execute_if<0, along_k, vector>(launch) || execute_if<0, along_k, along_k>(launch) ||
         execute_if<0, vector, along_mn>(launch) || execute_if<1, along_k, vector>(launch) ||
         execute_if<1, along_mn, along_k>(launch) || execute_if<1, along_k, along_k>(launch) ||
         execute_if<2, along_k, vector>(launch) || execute_if<2, along_k, along_k>(launch) ||
         execute_if<2, along_mn, vector>(launch) || execute_if<3, along_k, along_k>(launch) ||
         execute_if<3, along_k, vector>(launch) || execute_if<3, along_mn, along_mn>(launch) ||
         execute_if<4, along_k, along_k>(launch) || execute_if<4, along_mn, vector>(launch) ||
         execute_if<5, along_k, along_k>(launch) || execute_if<5, along_k, vector>(launch) ||
         execute_if<6, along_k, along_k>(launch) || execute_if<6, along_k, vector>(launch) ||
         execute_if<7, along_k, along_k>(launch) || execute_if<7, along_k, vector>(launch);
}

void expect_product(int tile, const Shape& s, std::mt19937& random) {
  const Numbers a(s.m, s.k, s.a_rows, s, random), b(s.k, s.n, s.b_rows, s, random);
  constexpr std::size_t beyond = 4096;  // guard elements, which must not be written
  std::vector<float> c(static_cast<std::size_t>(s.m * s.n) + beyond, std::numeric_limits<float>::quiet_NaN()),
      c0(c.size());
  for (float& x : c0) x = static_cast<float>(random() % 5);
  Problem<float> p;
  p.a = a.view;
  p.b = b.view;
  p.c = {c.data(), {s.m, s.n}, {s.c_cols ? 1 : s.n, s.c_cols ? s.m : 1}};
  p.alpha = 2;
  p.beta = s.c0 ? 3.0f : 0.0f;
  if (s.c0) p.c0 = {c0.data(), {s.m, s.n}, {p.c.stride[0], p.c.stride[1]}};
  const WarpPlan plan = warp_plan(p, {132, 227 * 1024}, {.tile = tile + 1, .splits = s.splits});
  WarpLaunch launch = warp_launch(p, plan, nullptr);
  ASSERT_EQ(launch.tile, tile);
  StreamK& stream_k = launch.args.stream_k;
  if (s.iterations_per_block != 0) {
    stream_k.data_parallel_tiles = s.data_parallel_tiles;
    stream_k.iterations_per_block = s.iterations_per_block;
    stream_k.iterations_per_tile = stream_k.stages;
  }
  std::vector<float> workspace(
      static_cast<std::size_t>(stream_k.slots() * warp_tiles[tile].m * warp_tiles[tile].n),
      std::numeric_limits<float>::quiet_NaN());
  launch.args.partials = workspace.data();
  // Up to the last element of each operand.
  const auto range = [](const Matrix<const float>& x) {
    const bool empty = x.rows() == 0 || x.cols() == 0;
    return emulated::Range{x.data, empty ? x.data + 1 : &x(x.rows() - 1, x.cols() - 1) + 1};
  };
  emulated::readable = {range(p.a), range(p.b)};
  ASSERT_TRUE(execute(launch)) << "no kernel here of tile " << tile << ", access " << int(launch.a) << " "
                               << int(launch.b);
  emulated::readable.clear();
  int wrong = 0;
  for (std::int64_t i = 0; i < s.m; ++i)
    for (std::int64_t j = 0; j < s.n; ++j) {
      double sum = 0;
      for (std::int64_t l = 0; l < s.k; ++l) sum += double(p.a(i, l)) * double(p.b(l, j));
      const auto at = static_cast<std::size_t>(i * p.c.stride[0] + j * p.c.stride[1]);
      wrong += !(double(c[at]) == 2 * sum + (s.c0 ? 3 * double(c0[at]) : 0));
    }
  for (std::size_t i = c.size() - beyond; i < c.size(); ++i) wrong += !std::isnan(c[i]);
  EXPECT_EQ(wrong, 0);
}

void expect_products(int tile, const std::vector<Shape>& shapes) {
  std::mt19937 random(static_cast<unsigned>(tile));
  for (std::size_t i = 0; i < 2 * shapes.size(); ++i) {
    const Shape& s = shapes[i / 2];
    cuda::ptx::copies_are_late = i % 2 == 0;
    SCOPED_TRACE("shape " + std::to_string(i / 2) + (i % 2 == 0 ? ", late" : ", early"));
    expect_product(tile, s, random);
  }
}

TEST(WarpKernel, LargeTilesSupportAnyStrides) {
  expect_products(0, {{.m = 128, .n = 131, .k = 40, .a_rows = false},
                      {.m = 132,
                       .n = 129,
                       .k = 83,
                       .a_rows = false,
                       .c0 = true,
                       .data_parallel_tiles = 0,
                       .iterations_per_block = 4},
                      {.m = 100, .n = 200, .k = 90, .splits = 2},
                      {.m = 256,
                       .n = 260,
                       .k = 61,
                       .b_rows = false,
                       .more = 3,
                       .c0 = true,
                       .data_parallel_tiles = 1,
                       .iterations_per_block = 5}});
}

TEST(WarpKernel, SmallTilesUseStreamK) {
  expect_products(
      1,
      {{.m = 64, .n = 64, .k = 160},
       {.m = 128, .n = 192, .k = 163, .data_parallel_tiles = 2, .iterations_per_block = 7},
       {.m = 65, .n = 60, .k = 17, .c0 = true, .data_parallel_tiles = 0, .iterations_per_block = 1},
       {.m = 150, .n = 68, .k = 95, .data_parallel_tiles = 1, .iterations_per_block = 20},
       {.m = 64, .n = 64, .k = 100, .splits = 4},
       {.m = 64, .n = 64, .k = 0, .c0 = true},
       {.m = 61, .n = 67, .k = 65, .a_rows = false, .b_rows = false, .ahead = 1, .iterations_per_block = 2},
       {.m = 131,
        .n = 97,
        .k = 67,
        .b_rows = false,
        .c0 = true,
        .data_parallel_tiles = 1,
        .iterations_per_block = 3},
       {.m = 70, .n = 99, .k = 40, .b_rows = false, .c_cols = true},
       {.m = 132,
        .n = 40,
        .k = 33,
        .a_rows = false,
        .b_rows = false,
        .data_parallel_tiles = 1,
        .iterations_per_block = 2}});
}

// Sums of fewer stages than slices, of as many, and of more; results that end within a tile, stored by
// elements and by 16 bytes.
TEST(WarpKernel, SlicesOfASumAreAdded) {
  expect_products(2, {{.m = 16, .n = 64, .k = 512},
                      {.m = 17, .n = 60, .k = 200, .b_rows = false, .c0 = true},
                      {.m = 32, .n = 69, .k = 131, .b_rows = false, .more = 3, .ahead = 1},
                      {.m = 13, .n = 132, .k = 61, .a_rows = false, .c0 = true, .c_cols = true},
                      {.m = 16, .n = 64, .k = 1},
                      {.m = 16, .n = 64, .k = 900, .splits = 3},
                      {.m = 17, .n = 72, .k = 331, .c0 = true, .iterations_per_block = 9},
                      {.m = 9, .n = 63, .k = 262, .b_rows = false, .more = 1, .c_cols = true, .splits = 4},
                      {.m = 33,
                       .n = 65,
                       .k = 131,
                       .b_rows = false,
                       .c0 = true,
                       .data_parallel_tiles = 2,
                       .iterations_per_block = 20},
                      {.m = 150, .n = 21, .k = 70, .b_rows = false, .more = 1},
                      {.m = 16, .n = 64, .k = 0, .c0 = true}});
  const int side = 32;
  expect_products(3, {{.m = side, .n = side, .k = 512},
                      {.m = side + 1, .n = side - 4, .k = 200, .b_rows = false, .c0 = true},
                      {.m = 2 * side, .n = side + 5, .k = 131, .b_rows = false, .more = 3, .ahead = 1},
                      {.m = side - 3, .n = 2 * side + 3, .k = 61, .a_rows = false, .ahead = 1, .c0 = true},
                      {.m = side, .n = side, .k = 1},
                      {.m = side, .n = side, .k = 1000, .splits = 5},
                      {.m = side + 1,
                       .n = 2 * side,
                       .k = 300,
                       .b_rows = false,
                       .data_parallel_tiles = 1,
                       .iterations_per_block = 11},
                      {.m = 33, .n = 34, .k = 9, .b_rows = false},
                      {.m = side, .n = side, .k = 0, .c0 = true}});
}

// Few rows whose sums are not sliced.
TEST(WarpKernel, ThinTilesHaveOneWarp) {
  expect_products(7, {{.m = 16, .n = 64, .k = 256, .b_rows = false},
                      {.m = 17, .n = 60, .k = 200, .b_rows = false},
                      {.m = 17, .n = 60, .k = 203, .b_rows = false, .c0 = true, .splits = 3},
                      {.m = 5, .n = 130, .k = 96, .b_rows = false, .more = 3, .ahead = 1, .splits = 2},
                      {.m = 33, .n = 68, .k = 70, .c_cols = true, .splits = 2},
                      {.m = 1, .n = 64, .k = 9}});
}

// Few rows with long sums, rows of any alignment, and columns of C.
TEST(WarpKernel, FlatTilesUseStreamK) {
  expect_products(4,
                  {{.m = 32, .n = 64, .k = 96, .b_rows = false},
                   {.m = 40,
                    .n = 130,
                    .k = 131,
                    .b_rows = false,
                    .more = 1,
                    .c0 = true,
                    .data_parallel_tiles = 1,
                    .iterations_per_block = 3},
                   {.m = 33, .n = 65, .k = 70, .b_rows = false, .ahead = 3, .splits = 2},
                   {.m = 30, .n = 100, .k = 45, .a_rows = false, .c_cols = true, .iterations_per_block = 2},
                   {.m = 200, .n = 31, .k = 33, .b_rows = false, .c0 = true}});
}

TEST(WarpKernel, EightWarpsShareATile) {
  for (const int tile : {5, 6})
    expect_products(
        tile,
        {{.m = 96, .n = 128, .k = 64, .b_rows = false},
         {.m = 97,
          .n = 130,
          .k = 83,
          .b_rows = false,
          .c0 = true,
          .data_parallel_tiles = 1,
          .iterations_per_block = 4},
         {.m = 90, .n = 257, .k = 132, .b_rows = false, .more = 3, .ahead = 1, .iterations_per_block = 5},
         {.m = 130, .n = 100, .k = 17, .b_rows = false, .c_cols = true},
         {.m = 130, .n = 100, .k = 68, .c0 = true},
         {.m = 96, .n = 128, .k = 80, .b_rows = false, .splits = 3}});
}

}  // namespace
}  // namespace tessera::matmul
