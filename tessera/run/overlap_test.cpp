// SPDX-License-Identifier: Apache-2.0
#include "tessera/run/overlap.hpp"
#include <gtest/gtest.h>

namespace tessera {
namespace {

float memory[1000];

ArrayView view(std::int64_t first, Extents extents, Extents strides) {
  return {memory + first, Element::f32, std::move(extents), std::move(strides)};
}

TEST(Overlap, SameMemoryAndAnElementInCommon) {
  EXPECT_TRUE(overlap(view(0, {4, 5}, {5, 1}), view(0, {4, 5}, {5, 1})));
  EXPECT_TRUE(overlap(view(0, {4, 5}, {5, 1}), view(19, {2, 2}, {2, 1})));
  EXPECT_FALSE(overlap(view(0, {4, 5}, {5, 1}), view(20, {2, 2}, {2, 1})));
}

TEST(Overlap, PartsOfOneMatrixSideBySideDoNot) {
  const auto left = view(0, {8, 4}, {10, 1});
  EXPECT_FALSE(overlap(left, view(4, {8, 6}, {10, 1})));
  EXPECT_TRUE(overlap(left, view(3, {8, 6}, {10, 1})));
  EXPECT_FALSE(overlap(left, view(4, {6, 8}, {1, 10}))) << "a transposed view of the other part";
  EXPECT_TRUE(overlap(left, view(13, {7, 1}, {10, 1})));
}

TEST(Overlap, NothingAndSingleValues) {
  EXPECT_FALSE(overlap(view(0, {0, 5}, {5, 1}), view(0, {4, 5}, {5, 1})));
  EXPECT_FALSE(overlap({nullptr, Element::f32, {2}, {1}}, view(0, {2}, {1})));
  EXPECT_TRUE(overlap(view(7, {}, {}), view(0, {8}, {1})));
  EXPECT_FALSE(overlap(view(8, {}, {}), view(0, {8}, {1})));
  EXPECT_TRUE(overlap(view(9, {10}, {-1}), view(2, {2, 1}, {1, 5})));
}

}  // namespace
}  // namespace tessera
