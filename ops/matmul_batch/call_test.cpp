// SPDX-License-Identifier: Apache-2.0
// Batches and groups for programs: products of unequal sizes with vectors of their own, matrices anywhere,
// and the messages for wrong options. agreement_test.cpp compares them with the single product.
#include <gtest/gtest.h>
#include <cmath>
#include <cstring>
#include <deque>
#include <set>
#include "tessera/matmul_batch.hpp"
#include "ops/matmul/gemm/drawn_testing.hpp"
#include "tessera/core/array/random.hpp"
#include "tests/complaint.hpp"

namespace tessera::matmul_batch {
namespace {

using matmul::bias_of_columns;
using matmul::bias_of_rows;
using matmul::drawn;

constexpr std::int64_t batch = 5, m = 19, n = 23, k = 31;

Options on_processors(Options options) {
  options.request.device = "cpu";
  return options;
}

// An empty vector's data() may be null, which memcmp must not get.
template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}
template <class T>
void fill_with_nan(std::vector<T>& to) {
  if (!to.empty()) std::memset(static_cast<void*>(to.data()), 0xff, to.size() * sizeof(T));
}

TEST(BatchCalls, BroadcastsSingleOperands) {
  const std::vector<double> a(m * k, 1), b(k * n, 2);
  std::vector<double> c(batch * m * n, NAN);
  enqueue<double>(nullptr, {a.data(), 1, m, k}, {b.data(), 1, k, n}, {c.data(), batch, m, n});
  EXPECT_EQ(c, std::vector<double>(c.size(), 2.0 * k));
  EXPECT_EQ(enqueue<double>(nullptr, {a.data(), 0, m, k}, {b.data(), 1, k, n}, {c.data(), 0, m, n}).variant,
            nullptr);
}

TEST(BatchCalls, ReportErrors) {
  std::vector<float> x(300);
  const float* const in = x.data();
  float* const out = x.data() + 200;
  const auto says = [&](ConstBatchView<float> a, ConstBatchView<float> b, BatchView<float> c,
                        const Options& o = {}, void* stream = nullptr) {
    return complaint([&] { enqueue<float>(stream, a, b, c, o); });
  };
  EXPECT_EQ(says({in, 2, 2, 3}, {in, 2, 3, 2}, {out, 2, 2, 2, 0, 3}),
            "C has the step 3, with which its entries overlap");
  EXPECT_EQ(says({in, 2, 2, 3, 0, -6}, {in, 2, 3, 2}, {out, 2, 2, 2}), "A has the negative step -6");
  constexpr std::int64_t far = std::int64_t{1} << 61;
  EXPECT_EQ(says({in, 2, 2, 3, 0, far}, {in, 2, 3, 2}, {out, 2, 2, 2}),
            "A exceeds the address space: 2 times 2305843009213693952 elements");
  EXPECT_EQ(says({in, 3, 2, 3}, {in, 2, 3, 2}, {out, 3, 2, 2}), "B has batch = 2, but A has 3");
  EXPECT_EQ(says({nullptr, 2, 2, 3}, {in, 2, 3, 2}, {out, 2, 2, 2}), "A has no data");
  EXPECT_EQ(says({in, 2, 2, 3}, {in, 2, 3, 2}, {x.data() + 4, 2, 2, 2}),
            "C overlaps A in memory; outputs must not alias other arrays");
  EXPECT_EQ(says({in, 2, 2, 3}, {in, 2, 3, 2}, {out, 2, 2, 2}, {.scale_a = {in, true, -2}}),
            "scale-a has the negative step -2");
  EXPECT_EQ(says({in, 2, 2, 3}, {in, 2, 3, 2}, {out, 2, 2, 2}, {.check = true}),
            "check is not supported for asynchronous calls");
  EXPECT_EQ(says({in, 2, 2, 3}, {in, 2, 3, 2}, {out, 2, 2, 2}, {}, out), "cpu has no streams");
  EXPECT_EQ(says({in, 2, 2, 3}, {in, 2, 3, 2}, {out, 2, 2, 2}), "none");
}

// The expectation counts the addresses that the entries of C would write.
TEST(BatchCalls, RefuseAStrideSmallerThanTheResult) {
  Random random(9);
  std::vector<float> memory(1);
  int refused = 0, taken = 0;
  for (int i = 0; i < 600; ++i) {
    const auto draw = [&](std::uint64_t most) { return static_cast<std::int64_t>(random.below(most)); };
    const Order order = draw(2) == 0 ? Order::rows : Order::columns;
    const std::int64_t count = 1 + draw(4), rows = 1 + draw(4), cols = 1 + draw(4),
                       line = order == Order::rows ? cols : rows, lines = order == Order::rows ? rows : cols,
                       leading = draw(2) == 0 ? 0 : line + draw(9), step = draw(40),
                       apart = leading == 0 ? line : leading;
    std::set<std::int64_t> places;
    for (std::int64_t e = 0; e < count; ++e)
      for (std::int64_t at = 0; at < lines; ++at)
        for (std::int64_t x = 0; x < line; ++x)
          places.insert(e * (step == 0 ? lines * apart : step) + at * apart + x);
    const bool right = static_cast<std::int64_t>(places.size()) == count * rows * cols;
    (right ? taken : refused) += 1;
    const ConstBatchView<float> a{memory.data(), count, rows, 0}, b{memory.data(), count, 0, cols};
    const BatchView<float> c{memory.data(), count, rows, cols, leading, step, order};
    ASSERT_EQ(complaint([&] { (void)workspace_bytes<float>(a, b, c); }),
              right ? "none" : "C has the step " + std::to_string(step) + ", with which its entries overlap")
        << count << " of " << rows << " × " << cols << " with " << leading;
  }
  EXPECT_GT(refused, 60);
  EXPECT_GT(taken, 100);
}

// Compares products of unequal sizes, each with its own scales and bias, with single products.
template <class T, class Out, class TB = T>
void expect_group(const Options& given, bool vectors) {
  using Added = std::conditional_t<std::is_same_v<Out, std::int8_t>, float, Out>;
  const std::vector<std::array<std::int64_t, 3>> sizes{
      {33, 65, 17}, {0, 5, 5}, {1, 1, 1}, {5, 6, 0}, {20, 40, 64}};
  std::vector<std::vector<T>> a;
  std::vector<std::vector<TB>> b;
  std::vector<std::vector<Out>> grouped, alone, in_place;
  const std::vector<float> scale = drawn<float>(100, 6);
  const std::vector<Added> bias = drawn<Added>(100, 7);
  const auto products_in = [&](std::vector<std::vector<Out>>& c) {
    std::vector<Product<T, Out, TB>> out;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      const auto [rows, cols, depth] = sizes[i];
      out.push_back({{a[i].data(), rows, depth}, {b[i].data(), depth, cols}, {c[i].data(), rows, cols}});
      if (!vectors) continue;
      out.back().scale_a = {scale.data() + i, true};
      out.back().bias = bias_of_columns(bias.data() + i);
    }
    return out;
  };
  for (const auto& [rows, cols, depth] : sizes) {
    a.push_back(drawn<T>(rows * depth, a.size()));
    b.push_back(drawn<TB>(depth * cols, a.size() + 50));
    grouped.push_back(drawn<Out>(rows * cols, 8));
  }
  alone = in_place = grouped;
  Options options = on_processors(given);
  enqueue_group<T, Out, TB>(nullptr, products_in(in_place), options);
  options.check = true;
  const GroupOutcome outcome = multiply_group<T, Out, TB>(products_in(grouped), options);
  EXPECT_TRUE(outcome.passed.value_or(false)) << outcome.wrong;
  const auto load_elements = products_in(alone);
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    EXPECT_TRUE(same_bits(in_place[i], grouped[i])) << i;
    multiply_group<T, Out, TB>(std::span(load_elements).subspan(i, 1), options);
    EXPECT_TRUE(same_bits(alone[i], grouped[i])) << i;
  }
}

TEST(GroupCalls, SupportVectorsOfEachProductForEveryElement) {
  expect_group<bf16, bf16>({.alpha = 2, .beta = -1}, true);
  expect_group<f16, float>({.activation = Activation::silu}, true);
  expect_group<e4m3, bf16, e5m2>({}, true);
  expect_group<e5m2, float>({.accumulate = Accumulate::fast}, true);
  expect_group<std::int8_t, std::int8_t>({.activation = Activation::relu}, true);
  expect_group<std::int8_t, std::int32_t>({.alpha = 3, .beta = 1}, false);
  expect_group<float, float>({.activation = Activation::gelu}, true);
  expect_group<float, float>({.beta = 0.5, .activation = Activation::relu}, true);
  expect_group<double, double>({.beta = 2, .activation = Activation::silu}, false);
  expect_group<std::int32_t, std::int32_t>({.alpha = 3, .activation = Activation::relu}, false);
}

// Results may be blocks of one matrix, but no product may write a vector that another reads.
TEST(GroupCalls, AcceptAdjacentResults) {
  std::vector<float> in(100, 1), out(6 * 8, -1);
  const auto block = [&](std::int64_t first, std::int64_t cols) {
    return Product<float>{{in.data(), 6, 3}, {in.data(), 3, cols}, {out.data() + first, 6, cols, 8}};
  };
  multiply_group<float>(std::vector{block(0, 3), block(3, 5)}, on_processors({}));
  EXPECT_EQ(out, std::vector<float>(out.size(), 3));
  const auto says = [&](const std::vector<Product<float>>& products) {
    return complaint([&] { multiply_group<float>(products, on_processors({})); });
  };
  const std::string why = "; a group's products are computed at the same time";
  EXPECT_EQ(says({block(0, 3), block(2, 5)}), "product 0: C overlaps C of product 1" + why);
  Product<float> scaled = block(0, 3);
  scaled.scale_a = {out.data() + 4, false};
  EXPECT_EQ(says({scaled, block(3, 5)}), "product 1: C overlaps scale-a of product 0" + why);
  scaled.scale_a = {out.data() + 1, false};
  EXPECT_EQ(says({scaled}), "product 0: C overlaps scale-a");
  std::vector<Product<float>> chain{block(0, 8), block(0, 8)};
  chain[1].a = {out.data(), 6, 3};
  chain[1].c = {in.data() + 50, 6, 8};
  EXPECT_EQ(says(chain), "product 0: C overlaps A of product 1" + why);
}

TEST(GroupCalls, ReportErrors) {
  std::vector<double> x(100);
  const Product<double> right{{x.data(), 2, 3}, {x.data(), 3, 2}, {x.data() + 50, 2, 2}};
  Product<double> wrong = right;
  const auto says = [&](const Product<double>& second, const Options& o = {}, void* stream = nullptr) {
    const std::vector<Product<double>> both{right, second};
    return complaint([&] { enqueue_group<double>(stream, both, o); });
  };
  Product<double> other = right;
  other.c.data = x.data() + 60;
  EXPECT_EQ(says(other), "none");
  EXPECT_EQ(says(other, {}, x.data()), "cpu has no streams");
  const float scale = 2;
  EXPECT_EQ(says(other, {.scale_a = {&scale}}), "product 0: a product of f64 takes no scales");
  EXPECT_EQ(says(other, {.activation = Activation::relu}), "none");
  EXPECT_EQ(says(right, {.beta = 1, .c0 = {x.data()}}), "in a group β multiplies C, not C0");
  EXPECT_EQ(says(right),
            "product 0: C overlaps C of product 1; a group's products are computed at the same time");
  wrong = other;
  wrong.b.rows = 4;
  EXPECT_EQ(says(wrong), "product 1: B has k = 4, but A has 3");
  wrong = right;
  wrong.c.data = x.data() + 5;
  EXPECT_EQ(says(wrong), "product 1: C overlaps A");
  wrong = other;
  wrong.a.data = x.data() + 48;
  EXPECT_EQ(says(wrong),
            "product 0: C overlaps A of product 1; a group's products are computed at the same time");
  EXPECT_EQ(enqueue_group<double>(nullptr, {}), "");
}

// Matrices at any addresses, on every device.

struct Size {
  std::int64_t m, n, k;
};

// The matrices of a group, each in its own allocation.
template <class T, class Out>
struct Matrices {
  std::deque<std::vector<T>> a, b;
  std::deque<std::vector<Out>> c;
  std::vector<Product<T, Out>> products;

  explicit Matrices(const std::vector<Size>& sizes, std::uint64_t seed = 1) {
    Random random(seed);
    const auto draw = [&random](std::vector<T>& to) {
      for (T& x : to) store_from_double(element_of<T>, &x, std::round(3 * random.normal()));
    };
    for (const Size& s : sizes) {
      draw(a.emplace_back(static_cast<std::size_t>(s.m * s.k)));
      draw(b.emplace_back(static_cast<std::size_t>(s.k * s.n)));
      c.emplace_back(static_cast<std::size_t>(s.m * s.n));
      fill_with_nan(c.back());
      products.push_back(
          {{a.back().data(), s.m, s.k}, {b.back().data(), s.k, s.n}, {c.back().data(), s.m, s.n}});
    }
  }
};

std::vector<Size> unequal() {
  return {{33, 65, 17}, {0, 5, 5}, {128, 128, 300}, {1, 1, 1},
          {7, 0, 3},    {5, 6, 0}, {300, 40, 64},   {64, 200, 130}};
}

std::vector<std::string> devices() {
  std::vector<std::string> out{"cpu", "simt"};
  if (Backend* cuda = find_backend(Where::cuda); cuda != nullptr && !cuda->devices().empty())
    out.push_back("cuda");
  return out;
}

template <class T, class Out = T>
void expect_group_right(const std::string& device) {
  Matrices<T, Out> matrices(unequal());
  Options options{.alpha = 2, .check = true};
  options.request.device = device;
  const GroupOutcome outcome = multiply_group<T, Out>(matrices.products, options);
  EXPECT_TRUE(outcome.passed.value_or(false)) << device << ", " << outcome.how << ": " << outcome.wrong;
  EXPECT_FALSE(outcome.how.empty());
  // An empty sum.
  for (const Out& x : matrices.c[5]) EXPECT_EQ(load_as_double(element_of<Out>, &x), 0);
}

TEST(Group, UnequalSizesAreRightOnEveryDevice) {
  for (const std::string& device : devices()) {
    expect_group_right<float>(device);
    expect_group_right<std::int32_t>(device);
    // The executor has no kernel for mixed precision.
    if (device == "simt") continue;
    expect_group_right<bf16, float>(device);
    expect_group_right<f16>(device);
    expect_group_right<std::int8_t, std::int32_t>(device);
  }
}

template <class T, class Out = T>
void expect_same_bits_alone(const std::string& device) {
  Options options;
  options.request.device = device;
  Matrices<T, Out> grouped(unequal(), 4);
  multiply_group<T, Out>(grouped.products, options);
  for (std::size_t i = 0; i < grouped.products.size(); ++i) {
    const std::vector<Out> kept = grouped.c[i];
    fill_with_nan(grouped.c[i]);
    multiply_group<T, Out>(std::span(grouped.products).subspan(i, 1), options);
    EXPECT_TRUE(same_bits(kept, grouped.c[i])) << device << " " << i;
  }
}

TEST(Group, AProductHasTheBitsOfASingleCall) {
  for (const std::string& device : devices()) {
    if (device == "simt") continue;
    expect_same_bits_alone<float>(device);
    expect_same_bits_alone<bf16>(device);
  }
}

TEST(Group, AcceptsArraysOfPointers) {
  // Aᵀ in memory, B within a wider matrix, and the same B twice.
  const std::vector<float> a0{1, 2, 3, 4, 5, 6}, a1{6, 5, 4, 3, 2, 1}, b{1, 0, 9, 0, 1, 9, 1, 1, 9};
  std::vector<float> c0(4), c1(4);
  const float *const as[] = {a0.data(), a1.data()}, *const bs[] = {b.data(), b.data()};
  float* const cs[] = {c0.data(), c1.data()};
  const GroupOutcome outcome = multiply_pointers<float>(as, bs, cs, {.m = 2, .n = 2, .k = 3, .ldb = 3},
                                                        {.transpose_a = true, .check = true});
  EXPECT_TRUE(*outcome.passed) << outcome.wrong;
  EXPECT_EQ(c0, (std::vector<float>{6, 8, 8, 10}));
  EXPECT_EQ(c1, (std::vector<float>{8, 6, 6, 4}));
  EXPECT_THROW(multiply_pointers<float>(std::span(as, 1), bs, cs, {.m = 2, .n = 2, .k = 3}), Error);
}

}  // namespace
}  // namespace tessera::matmul_batch
