// SPDX-License-Identifier: Apache-2.0
// Rung 17 on the executor: short sums with every tile (blocks that walk over several tiles down and along C,
// edges, odd depths, misaligned lines), and one row or column at several alignments. Operands are integers,
// so results are exact.
#include <gtest/gtest.h>
#include <algorithm>
#include <cstring>
#include <random>
#include <string>
#include <vector>
#include "tessera/matmul.hpp"

namespace tessera::matmul {
namespace {

struct PlacedShape {
  std::int64_t m, n, k;
  int more = 0;   // elements from the end of a line to the next one
  int first = 0;  // index of a matrix's first element in its storage
};

// Small integers are exact, other values rounded.
template <class T>
T whole(double x) {
  if constexpr (std::is_arithmetic_v<T>) return static_cast<T>(x);
  else return T::from(static_cast<float>(x));
}

// The storage of a matrix, with the padding between its lines.
template <class T>
struct StoredMatrix {
  std::int64_t rows, cols, step, first;
  Order order;
  std::vector<T> data;

  StoredMatrix(std::int64_t rows_, std::int64_t cols_, const PlacedShape& s, Order order_)
      : rows(rows_),
        cols(cols_),
        step((order_ == Order::rows ? cols : rows) + s.more),
        first(s.first),
        order(order_),
        data(static_cast<std::size_t>(first + step * (order_ == Order::rows ? rows : cols)), whole<T>(77)) {}

  T& at(std::int64_t i, std::int64_t j) {
    return data[static_cast<std::size_t>(first + (order == Order::rows ? i * step + j : j * step + i))];
  }
  void draw(std::mt19937& random) {
    for (std::int64_t i = 0; i < rows; ++i)
      for (std::int64_t j = 0; j < cols; ++j) at(i, j) = whole<T>(double(random() % 9) - 4);
  }
  MatrixView<T> view() { return {data.data() + first, rows, cols, step, order}; }
  MatrixView<const T> input() const { return {data.data() + first, rows, cols, step, order}; }
};

template <class T, class Out = T>
void expect_exact(const PlacedShape& s, const char* variant, const Tuning& tuning, Order of_a, Order of_b,
                  Order of_c, double beta) {
  std::mt19937 random(17);
  StoredMatrix<T> a(s.m, s.k, s, of_a), b(s.k, s.n, s, of_b);
  StoredMatrix<Out> c(s.m, s.n, s, of_c);
  a.draw(random), b.draw(random), c.draw(random);
  StoredMatrix<Out> wanted = c;
  for (std::int64_t i = 0; i < s.m; ++i)
    for (std::int64_t j = 0; j < s.n; ++j) {
      double sum = 0;
      for (std::int64_t l = 0; l < s.k; ++l)
        sum += static_cast<float>(a.at(i, l)) * static_cast<float>(b.at(l, j));
      wanted.at(i, j) = whole<Out>(2 * sum + beta * static_cast<float>(c.at(i, j)));
    }
  Options options{.alpha = 2, .beta = beta};
  options.request = {.device = "simt", .variant = variant, .tuning = tuning};
  multiply<T, Out>(a.input(), b.input(), c.view(), options);
  EXPECT_EQ(std::memcmp(c.data.data(), wanted.data.data(), c.data.size() * sizeof(Out)), 0)
      << s.m << "x" << s.n << "x" << s.k << " + " << s.more << " from " << s.first << ", " << variant << " "
      << to_string(tuning);
}

template <class T, class Out = T>
void expect_every_tile(PlacedShape s, Order of_a, Order of_b, Order of_c, double beta) {
  if (sizeof(T) != 4) s.k = std::min<std::int64_t>(s.k, 32);  // longer ones are refused
  for (const int tile : {1, 2, 3})
    expect_exact<T, Out>(s, "short_sums", Tuning{{"tile", tile}}, of_a, of_b, of_c, beta);
}

template <class T, class Out = T>
void expect_every_layout(const PlacedShape& s) {
  for (unsigned layout = 0; layout < 8; ++layout) {
    const auto order = [&](unsigned bit) { return (layout >> bit & 1) != 0 ? Order::columns : Order::rows; };
    expect_every_tile<T, Out>(s, order(0), order(1), order(2), layout % 3 == 0 ? 0 : 3);
  }
}

TEST(ShortSums, EveryLayout) {
  expect_every_layout<float>({70, 133, 20});
  expect_every_layout<float>({70, 133, 33, 3});
  expect_every_layout<double>({70, 133, 20});
  expect_every_layout<double>({70, 133, 33, 3});
}

// Narrow elements are widened on their way to the panels, one by one or 16 bytes at once, and rounded to C's
// element, one by one or in pairs.
TEST(ShortSums, EveryLayoutOfNarrowElements) {
  for (const PlacedShape& s : {PlacedShape{70, 133, 20}, {70, 134, 33, 3}, {70, 136, 16, 16}}) {
    expect_every_layout<bf16>(s);
    expect_every_layout<f16, float>(s);
    expect_every_layout<std::int8_t, std::int32_t>(s);
    expect_every_layout<std::int8_t, float>(s);
    expect_every_layout<e4m3, bf16>(s);
  }
}

// The executor's one processor has a few blocks, each of which computes tiles of several rows and columns.
TEST(ShortSums, CoversSeveralRowsOfTiles) {
  for (const PlacedShape& s : {PlacedShape{200, 500, 5}, {500, 200, 5}, {300, 300, 36}}) {
    expect_every_tile<float>(s, Order::rows, Order::columns, Order::rows, 0);
    expect_every_tile<double>(s, Order::rows, Order::columns, Order::rows, 0);
    for (const int more : {0, 1})
      expect_every_tile<bf16>({s.m, s.n, s.k, more}, Order::rows, Order::columns, Order::rows, 0);
  }
}

TEST(ShortSums, SingleLinesAndProducts) {
  for (const PlacedShape& s :
       {PlacedShape{1, 40, 64}, {40, 32, 1}, {33, 33, 4}, {33, 65, 63, 1}, {65, 64, 0}}) {
    expect_every_tile<float>(s, Order::rows, Order::columns, Order::rows, 0.5);
    expect_every_tile<double>(s, Order::columns, Order::rows, Order::rows, 0.5);
  }
}

// One row, and one column. Four lines per warp are planned only without requested splits.
template <class T, class Out = T>
void expect_every_line(std::int64_t lines, std::int64_t k) {
  for (const int more : {0, 1, 4, 16})
    for (const int first : {0, 1, 3, 16})
      for (const int splits : {0, 1, 3}) {
        const Tuning tuning{{"splits", splits}};
        expect_exact<T, Out>({1, lines, k, more, first}, "few_rows", tuning, Order::rows, Order::columns,
                             Order::rows, 3);
        expect_exact<T, Out>({lines, 1, k, more, first}, "few_rows", tuning, Order::rows, Order::columns,
                             Order::rows, 0);
      }
}

TEST(FewRows, OneRowOrColumnAtSeveralAlignments) {
  for (const auto& [lines, k] :
       {std::pair<std::int64_t, std::int64_t>{1, 1}, {9, 130}, {70, 33}, {21, 1100}, {5, 4700}}) {
    expect_every_line<float>(lines, k);
    expect_every_line<double>(lines, k);
    expect_every_line<bf16, float>(lines, k);
    expect_every_line<e4m3, float>(lines, k);
    expect_every_line<std::int8_t, std::int32_t>(lines, k);
  }
}

}  // namespace
}  // namespace tessera::matmul
