// SPDX-License-Identifier: Apache-2.0
// The call for programs whose matrices are spread over devices: what it makes of blocks and options.
#include "ops/matmul/resident.hpp"
#include <gtest/gtest.h>
#include <cstring>
#include "ops/matmul/problem/drawn_testing.hpp"
#include "tests/made_up_lanes.hpp"

namespace tessera::matmul {
namespace {

constexpr std::int64_t m = 37, n = 29, k = 53;

// A matrix spread over devices 2 and 5, the second with two of the three blocks.
template <class T>
struct Spread {
  std::vector<T> memory;
  SpreadMatrix<T> matrix;

  Spread(std::int64_t rows, std::int64_t cols, Along along, Order order, std::uint64_t seed)
      : memory(drawn<T>(rows * cols, seed)), matrix{rows, cols, along, {}, order} {
    const std::int64_t extent = along == Along::rows ? rows : cols, step = order == Order::rows ? cols : rows;
    const bool by_lines = (along == Along::rows) == (order == Order::rows);
    const std::int64_t cuts[] = {0, extent / 4, extent / 2 + 3, extent};
    for (const int i : {2, 0, 1})
      matrix.blocks.push_back(
          {i == 1 ? 2 : 5, memory.data() + cuts[i] * (by_lines ? step : 1), cuts[i], cuts[i + 1], step});
  }
  SpreadMatrix<const T> read() const {
    SpreadMatrix<const T> out{matrix.rows, matrix.cols, matrix.along, {}, matrix.order};
    for (const auto& b : matrix.blocks)
      out.blocks.push_back({b.device, b.data, b.first, b.last, b.leading_dimension});
    return out;
  }
};

Resident made_up_product(const auto& a, const auto& b, const auto& c, const Options& options = {}) {
  unsigned seed = 0;
  return detail::spread_product(
      detail::any(a), detail::any(b), detail::any(c), options,
      [](int) { return find_device("cpu:threads=1"); },
      [&](const Device& device) { return std::make_unique<made_up::MadeUpLanes>(device, seed++); });
}

// Held against multiply() of the same memory, which lies there as one matrix.
template <class T, class Out>
void expect_right(Along a_along, Along b_along, Along c_along, Order order, Options options) {
  const Spread<T> a(options.transpose_a ? k : m, options.transpose_a ? m : k, a_along, order, 1);
  const Spread<T> b(options.transpose_b ? n : k, options.transpose_b ? k : n, b_along, order, 2);
  Spread<Out> c(m, n, c_along, order, 3);
  const std::vector<Out> before = c.memory;
  Resident product = made_up_product(a.read(), b.read(), c.matrix, options);
  (void)product.run();
  std::vector<Out> expected = before;
  options.request.device = "cpu";
  const auto whole = [&](const auto& spread) {
    return MatrixView<const T>{spread.memory.data(), spread.matrix.rows, spread.matrix.cols, 0, order};
  };
  (void)multiply(whole(a), whole(b), MatrixView<Out>{expected.data(), m, n, 0, order}, options);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double got = load_as_double(element_of<Out>, &c.memory[i]),
                 wanted = load_as_double(element_of<Out>, &expected[i]);
    ASSERT_NEAR(got, wanted, (std::is_same_v<T, double> ? 1e-12 : 1e-3)) << i;
  }
}

TEST(SpreadProduct, IsThatOfTheWholeMatrices) {
  for (const Along a : {Along::rows, Along::columns})
    for (const Along b : {Along::rows, Along::columns})
      for (const Along c : {Along::rows, Along::columns})
        for (const Order order : {Order::rows, Order::columns}) {
          expect_right<double, double>(a, b, c, order, {});
          Options options{.alpha = 2, .beta = -0.5, .transpose_a = true, .transpose_b = order == Order::rows};
          expect_right<double, double>(a, b, c, order, options);
          options.activation = Activation::relu;
          expect_right<bf16, float>(a, b, c, order, options);
        }
}

TEST(SpreadProduct, RefusesWhatItCannotDo) {
  const Spread<float> a(m, k, Along::rows, Order::rows, 1), b(k, n, Along::columns, Order::rows, 2);
  Spread<float> c(m, n, Along::rows, Order::rows, 3);
  const auto fails = [&](const Options& options, const std::string& text) {
    try {
      (void)made_up_product(a.read(), b.read(), c.matrix, options);
      ADD_FAILURE() << text;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(text), std::string::npos) << error.what();
    }
  };
  fails({.check = true}, "nobody holds");
  fails({.request = {.device = "cpu"}}, "device");
  fails({.scale_a = {a.memory.data()}}, "scales");
  fails({.bias = bias_of_rows(a.memory.data())}, "bias");
  fails({.c0 = {a.memory.data()}}, "addend");
  fails({.transpose_a = true}, "B has k");
  c.matrix.order = static_cast<Order>(9);
  fails({}, "order is number 9 of its enumeration");
  c.matrix.order = Order::rows;
  c.matrix.along = static_cast<Along>(5);
  fails({}, "along is number 5 of its enumeration");
  c.matrix.along = Along::rows;
  Spread<float> other = c;
  c.matrix.blocks[1].leading_dimension = n - 1;
  fails({}, "leading dimension");
  c.matrix.blocks = other.matrix.blocks;
  c.matrix.blocks.pop_back();
  fails({}, "gap");
  // There are no GPUs where this test runs, or none of these numbers.
  c.matrix.blocks[0].device = 99;
  EXPECT_THROW((void)spread_product<float>(a.read(), b.read(), c.matrix), Error);
}

}  // namespace
}  // namespace tessera::matmul
