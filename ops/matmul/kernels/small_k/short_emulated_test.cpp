// SPDX-License-Identifier: Apache-2.0
// The kernel of short sums in its GPU version, on the executor: asynchronous copies that complete as late or
// as early as possible (tests/emulated). Sums are of integers, so results are exact.
#include "cuda.hpp"
#include <gtest/gtest.h>
#include <cmath>
#include <limits>
#include <random>
#include <span>
#include <vector>
#include "tessera/cuda/ptx/cp_async.cuh"
#include "ops/matmul/kernels/simt/gemm_problem.hpp"
#include "ops/matmul/kernels/simt/vectorized.hpp"
// A separate namespace: the executor's build has other code under the same names.
#undef TESSERA_UNIT
#define TESSERA_UNIT unit_emulated
#define __CUDA_ARCH__ 900
#include "ops/matmul/kernels/small_k/short_kernel.hpp"

namespace tessera::matmul {
namespace {

// A problem and its layout: `ahead` elements from an aligned address, lines `more` elements longer.
struct Shape {
  std::int64_t m, n, k;
  bool a_rows = true, b_rows = false;
  int more = 0, ahead = 0;
  bool c0 = false;
};

template <class T>
struct Numbers {
  std::vector<T> numbers;
  Matrix<const T> view;

  Numbers(std::int64_t rows, std::int64_t cols, bool by_rows, const Shape& s, std::mt19937& random) {
    const std::int64_t step = (by_rows ? cols : rows) + s.more;
    numbers.resize(static_cast<std::size_t>((by_rows ? rows : cols) * step + s.ahead + 4));
    for (T& x : numbers) x = static_cast<T>(random() % 9) - 4;
    const auto at = reinterpret_cast<std::uintptr_t>(numbers.data());
    view = {numbers.data() + (16 - at % 16) % 16 / sizeof(T) + s.ahead,
            {rows, cols},
            {by_rows ? step : 1, by_rows ? 1 : step}};
  }
};

template <class T>
void expect_product(int lines, const Shape& s, std::mt19937& random) {
  const Numbers<T> a(s.m, s.k, s.a_rows, s, random), b(s.k, s.n, s.b_rows, s, random);
  constexpr std::size_t beyond = 4096;  // guard elements, which must not be written
  std::vector<T> storage(static_cast<std::size_t>(s.m * s.n) + beyond + 32,
                         std::numeric_limits<T>::quiet_NaN());
  const auto at = reinterpret_cast<std::uintptr_t>(storage.data());
  const std::span<T> c(storage.data() + (32 - at % 32) % 32 / sizeof(T) + s.ahead,
                       static_cast<std::size_t>(s.m * s.n) + beyond);
  std::vector<T> c0(c.size());
  for (T& x : c0) x = static_cast<T>(random() % 5);
  Problem<T> p;
  p.a = a.view;
  p.b = b.view;
  p.c = {c.data(), {s.m, s.n}, {s.n, 1}};
  p.alpha = 2;
  if (s.c0) {
    p.beta = 3;
    p.c0 = {c0.data(), {s.m, s.n}, {s.n, 1}};
  }
  // Up to the last element of each operand.
  const auto range = [](const Matrix<const T>& x) {
    return emulated::Range{x.data,
                           x.rows() == 0 || x.cols() == 0 ? x.data + 1 : &x(x.rows() - 1, x.cols() - 1) + 1};
  };
  emulated::readable = {range(p.a), range(p.b)};
  with_short_sums<T>(s.k, lines, [&]<class Kernel>() {
    Device device;
    Run run{.device = &device};
    const auto args = Kernel::args(p, 1);
    const bool is_aligned = s.ahead == 0 && (s.m == 1 || s.n * std::int64_t{sizeof(T)} % 32 == 0);
    EXPECT_EQ(args.step, sizeof(T) == 4 && is_aligned ? 1 : args.blocks);
    launch_kernel<Kernel>(Kernel::launch(args), args, run);
  });
  emulated::readable.clear();
  int wrong = 0;
  for (std::int64_t i = 0; i < s.m; ++i)
    for (std::int64_t j = 0; j < s.n; ++j) {
      double sum = 0;
      for (std::int64_t l = 0; l < s.k; ++l) sum += double(p.a(i, l)) * double(p.b(l, j));
      const auto at = static_cast<std::size_t>(i * s.n + j);
      wrong += !(double(c[at]) == 2 * sum + (s.c0 ? 3 * double(c0[at]) : 0));
    }
  for (std::size_t i = c.size() - beyond; i < c.size(); ++i) wrong += !std::isnan(c[i]);
  EXPECT_EQ(wrong, 0);
}

template <class T>
void expect_products(const std::vector<Shape>& shapes) {
  std::mt19937 random(17);
  for (const int lines : short_sums_tiles)
    for (std::size_t i = 0; i < 2 * shapes.size(); ++i) {
      if (shapes[i / 2].k > longest_short_sum<T>) continue;
      cuda::ptx::copies_are_late = i % 2 == 0;
      SCOPED_TRACE("tile " + std::to_string(lines) + ", shape " + std::to_string(i / 2) +
                   (i % 2 == 0 ? ", late" : ", early"));
      expect_product<T>(lines, shapes[i / 2], random);
    }
}

// Whole tiles, several rows of them; edges, odd sums, operands along k and across; nothing to sum.
const std::vector<Shape> shapes = {{.m = 128, .n = 256, .k = 64},
                                   {.m = 256, .n = 768, .k = 8},
                                   {.m = 256, .n = 768, .k = 8, .ahead = 1},
                                   {.m = 130, .n = 391, .k = 17, .c0 = true},
                                   {.m = 65, .n = 40, .k = 33, .a_rows = false, .b_rows = true, .more = 1},
                                   {.m = 70, .n = 131, .k = 36, .b_rows = true, .ahead = 1},
                                   {.m = 33, .n = 130, .k = 24, .more = 4},
                                   {.m = 1, .n = 100, .k = 1, .c0 = true},
                                   {.m = 40, .n = 64, .k = 0, .c0 = true}};

TEST(ShortSumsKernel, OfFloats) { expect_products<float>(shapes); }
TEST(ShortSumsKernel, OfDoubles) { expect_products<double>(shapes); }

}  // namespace
}  // namespace tessera::matmul
