// SPDX-License-Identifier: Apache-2.0
// The ways of adding, each for itself.
#include <gtest/gtest.h>
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>
#include "sums.hpp"
#include "tessera/core/array/random.hpp"

namespace tessera::integration {
namespace {

template <class T>
T exact_sum(const std::vector<T>& values) {
  Exact<T> sum;
  for (const T value : values) sum.add(value);
  return sum.rounded();
}

template <class T>
class Exactly : public testing::Test {};
using Kinds = testing::Types<float, double>;
TYPED_TEST_SUITE(Exactly, Kinds);

TYPED_TEST(Exactly, LosesNothing) {
  using T = TypeParam;
  using limits = std::numeric_limits<T>;
  const T large = limits::max() / 4, least = limits::denorm_min();
  EXPECT_EQ(exact_sum<T>({large, 1, -large}), 1);
  EXPECT_EQ(exact_sum<T>({large, least, -large}), least);
  EXPECT_EQ(exact_sum<T>({-large, -3, large}), -3);
  EXPECT_EQ(exact_sum<T>({}), 0);
  EXPECT_EQ(exact_sum<T>({limits::min(), -least}), limits::min() - least);
  EXPECT_EQ(exact_sum<T>({limits::max(), limits::max(), -limits::max()}), limits::max());
  EXPECT_EQ(exact_sum<T>({limits::max(), limits::max()}), limits::infinity());
  EXPECT_EQ(exact_sum<T>({-limits::max(), -limits::max()}), -limits::infinity());
}

TYPED_TEST(Exactly, RoundsOnceToTheNearestAndTiesToEven) {
  using T = TypeParam;
  const T half = std::numeric_limits<T>::epsilon() / 2, tiny = half / 1024;
  EXPECT_EQ(exact_sum<T>({1, half}), 1);
  EXPECT_EQ(exact_sum<T>({1, half, tiny}), 1 + 2 * half);
  EXPECT_EQ(exact_sum<T>({1, half, -tiny}), 1);
  EXPECT_EQ(exact_sum<T>({1, 2 * half, half}), 1 + 4 * half);
  EXPECT_EQ(exact_sum<T>({-1, -half, -tiny}), -1 - 2 * half);
}

TYPED_TEST(Exactly, PropagatesInfinities) {
  using T = TypeParam;
  const T infinite = std::numeric_limits<T>::infinity();
  EXPECT_EQ(exact_sum<T>({1, infinite}), infinite);
  EXPECT_EQ(exact_sum<T>({-infinite, 1}), -infinite);
  EXPECT_TRUE(std::isnan(exact_sum<T>({infinite, -infinite})));
  EXPECT_TRUE(std::isnan(exact_sum<T>({std::numeric_limits<T>::quiet_NaN(), 1})));
}

TYPED_TEST(Exactly, AnyOrderAndAnyPartsGiveTheSame) {
  using T = TypeParam;
  Random random(7);
  std::vector<T> values;
  long double plain = 0;
  for (int i = 0; i < 3000; ++i) {
    values.push_back(static_cast<T>(std::ldexp(random.normal(), static_cast<int>(random.below(40)) - 20)));
    plain += values.back();
  }
  const T forward = exact_sum(values);
  EXPECT_NEAR(static_cast<double>(forward), static_cast<double>(plain),
              1e-6 * std::fabs(static_cast<double>(plain)) + 1e-9);
  std::ranges::reverse(values);
  EXPECT_EQ(forward, exact_sum(values));
  std::int64_t stored[Exact<T>::words];
  Exact<T> whole;
  for (std::size_t from = 0; from < values.size(); from += 700) {
    Exact<T> part;
    for (std::size_t i = from; i < std::min(from + 700, values.size()); ++i) part.add(values[i]);
    part.carry();
    part.store(stored);
    whole.add_stored(stored);
  }
  whole.carry();
  EXPECT_EQ(forward, whole.rounded());
}

TEST(Sums, SubtreesCombineLikeTheirLeaves) {
  Random random(3);
  for (const Sum way : {Sum::pairwise, Sum::double_float})
    for (const int count : {1, 5, 31, 32, 33, 100, 129}) {
      std::vector<Pair<float>> leaves;
      for (int i = 0; i < count; ++i) leaves.push_back({static_cast<float>(random.normal()), 0});
      Tree<float> one(way), other(way);
      for (const auto& leaf : leaves) one.add(leaf);
      for (int from = 0; from < count; from += 8) {
        Tree<float> part(way);
        for (int i = from; i < std::min(from + 8, count); ++i) part.add(leaves[static_cast<std::size_t>(i)]);
        other.add(part.sum());
      }
      EXPECT_EQ(one.sum().high, other.sum().high) << count;
      EXPECT_EQ(one.sum().low, other.sum().low) << count;
    }
}

TEST(Sums, CompensationKeepsWhatOneFloatCannot) {
  for (const Sum way : {Sum::kahan, Sum::double_float}) {
    Pair<float> sum{16777216.0f, 0};
    for (int i = 0; i < 1000; ++i) sum = plus(way, sum, 1.0f);
    EXPECT_EQ(sum.high, 16778216.0f);
  }
  Pair<float> plain{16777216.0f, 0};
  for (int i = 0; i < 1000; ++i) plain = plus(Sum::plain, plain, 1.0f);
  EXPECT_EQ(plain.high, 16777216.0f);
}

}  // namespace
}  // namespace tessera::integration
