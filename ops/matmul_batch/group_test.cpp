// SPDX-License-Identifier: Apache-2.0
// Groups of products: unequal sizes, matrices anywhere, empty ones among them; the bits of each do not depend
// on the others. Where there is a GPU whose tensor cores serve them, the same there.
#include "multiply.hpp"
#include <gtest/gtest.h>
#include <cmath>
#include <cstring>
#include <deque>
#include <iostream>
#include <limits>
#include "tessera/core/random.hpp"

namespace tessera::matmul_batch {
namespace {

struct Size {
  std::int64_t m, n, k;
};

// Matrices of a group in memory of their own each.
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
      std::memset(static_cast<void*>(c.back().data()), 0xff, c.back().size() * sizeof(Out));
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
void expect_right(const std::string& device) {
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
    expect_right<float>(device);
    expect_right<std::int32_t>(device);
    // The executor has no kernel of mixed precision.
    if (device == "simt") continue;
    expect_right<bf16, float>(device);
    expect_right<f16>(device);
    expect_right<std::int8_t, std::int32_t>(device);
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
    std::memset(static_cast<void*>(grouped.c[i].data()), 0xff, kept.size() * sizeof(Out));
    multiply_group<T, Out>(std::span(grouped.products).subspan(i, 1), options);
    EXPECT_EQ(std::memcmp(kept.data(), grouped.c[i].data(), kept.size() * sizeof(Out)), 0)
        << device << " " << i;
  }
}

TEST(Group, AProductHasTheBitsThatItHasAlone) {
  for (const std::string& device : devices()) {
    if (device == "simt") continue;
    expect_same_bits_alone<float>(device);
    expect_same_bits_alone<bf16>(device);
  }
}

// What one launch is worth, beside the same products one after another, by the single product's rungs.
TEST(Group, DISABLED_OneLaunchOnAGpu) {
  if (devices().back() != "cuda") GTEST_SKIP() << "no GPU";
  std::vector<Size> sizes;
  Random random(3);
  const auto draw = [&random] { return static_cast<std::int64_t>(64 + random.below(960)); };
  for (int i = 0; i < 256; ++i) sizes.push_back({draw(), draw() / 8 * 8, draw() / 8 * 8});
  Matrices<bf16, bf16> matrices(sizes);
  Options options;
  options.request.device = "cuda";
  double flops = 0;
  for (const Size& s : sizes) flops += 2.0 * static_cast<double>(s.m * s.n * s.k);
  for (const char* variant : {"", "cluster", "cublas"}) {
    if (*variant != 0) options.request.variant = variant;
    (void)multiply_group<bf16>(matrices.products, options);  // loads code, makes plans
    const GroupOutcome outcome = multiply_group<bf16>(matrices.products, options);
    std::cout << "256 products of 64 to 1023: " << outcome.how << ", " << outcome.seconds * 1e6 << " µs, "
              << flops / outcome.seconds / 1e12 << " TFLOP/s\n";
  }
}

TEST(Group, CIsReadWhereBetaIsNotNoughtOnly) {
  Matrices<double, double> matrices({{4, 5, 6}, {2, 3, 0}});
  for (auto& c : matrices.c) std::ranges::fill(c, 3);
  EXPECT_TRUE(*multiply_group<double>(matrices.products, {.beta = -2, .check = true}).passed);
  EXPECT_EQ(matrices.c[1], (std::vector<double>(6, -6)));
  for (auto& c : matrices.c) std::ranges::fill(c, std::numeric_limits<double>::quiet_NaN());
  EXPECT_TRUE(*multiply_group<double>(matrices.products, {.check = true}).passed);
  EXPECT_EQ(matrices.c[1], (std::vector<double>(6, 0)));
}

TEST(Group, MatricesByTheirAddresses) {
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

TEST(Group, ErrorsNameTheProduct) {
  Matrices<float, float> matrices({{4, 5, 6}, {2, 3, 4}});
  matrices.products[1].b.rows = 3;
  try {
    multiply_group<float>(matrices.products);
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "product 1: B has k = 3, but A has 4");
  }
  EXPECT_TRUE(multiply_group<float>({}).how.empty());
}

TEST(Group, NotANumberPropagates) {
  Matrices<float, float> matrices({{4, 5, 6}, {2, 3, 4}});
  matrices.a[1][0] = std::numeric_limits<float>::quiet_NaN();
  multiply_group<float>(matrices.products, {});
  for (std::size_t j = 0; j < 3; ++j) EXPECT_TRUE(std::isnan(matrices.c[1][j]));
  for (std::size_t j = 3; j < 6; ++j) EXPECT_FALSE(std::isnan(matrices.c[1][j]));
  for (const float x : matrices.c[0]) EXPECT_FALSE(std::isnan(x));
}

}  // namespace
}  // namespace tessera::matmul_batch
