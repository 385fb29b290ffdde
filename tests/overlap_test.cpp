// SPDX-License-Identifier: Apache-2.0
#include "tessera/run/overlap.hpp"
#include <gtest/gtest.h>
#include <functional>
#include <set>
#include "tessera/core/array/random.hpp"

namespace tessera {
namespace {

float memory[1000];

ArrayView view(std::int64_t first, Extents extents, Extents strides) {
  return {memory + first, Element::f32, std::move(extents), std::move(strides)};
}

TEST(Overlap, DetectsSharedElements) {
  EXPECT_TRUE(overlap(view(0, {4, 5}, {5, 1}), view(0, {4, 5}, {5, 1})));
  EXPECT_TRUE(overlap(view(0, {4, 5}, {5, 1}), view(19, {2, 2}, {2, 1})));
  EXPECT_FALSE(overlap(view(0, {4, 5}, {5, 1}), view(20, {2, 2}, {2, 1})));
}

TEST(Overlap, AdjacentPartsOfAMatrixDoNotOverlap) {
  const auto left = view(0, {8, 4}, {10, 1});
  EXPECT_FALSE(overlap(left, view(4, {8, 6}, {10, 1})));
  EXPECT_TRUE(overlap(left, view(3, {8, 6}, {10, 1})));
  EXPECT_FALSE(overlap(left, view(4, {6, 8}, {1, 10}))) << "a transposed view of the other part";
  EXPECT_TRUE(overlap(left, view(13, {7, 1}, {10, 1})));
}

TEST(Overlap, HandlesEmptyAndSingleElementArrays) {
  EXPECT_FALSE(overlap(view(0, {0, 5}, {5, 1}), view(0, {4, 5}, {5, 1})));
  EXPECT_FALSE(overlap({nullptr, Element::f32, {2}, {1}}, view(0, {2}, {1})));
  EXPECT_TRUE(overlap(view(7, {}, {}), view(0, {8}, {1})));
  EXPECT_FALSE(overlap(view(8, {}, {}), view(0, {8}, {1})));
  EXPECT_TRUE(overlap(view(9, {10}, {-1}), view(2, {2, 1}, {1, 5})));
}

TEST(Overlap, DetectsStridesThatAreTooSmall) {
  EXPECT_FALSE(overlaps_itself(view(0, {4, 5}, {5, 1})));
  EXPECT_TRUE(overlaps_itself(view(0, {4, 5}, {4, 1})));
  EXPECT_TRUE(overlaps_itself(view(0, {2}, {0})));
  EXPECT_FALSE(overlaps_itself(view(0, {1, 5}, {0, 1})));
  EXPECT_FALSE(overlaps_itself(view(0, {2, 3, 2}, {15, 10, 1}))) << "between each other's rows";
  EXPECT_FALSE(overlaps_itself(view(40, {3, 4}, {-8, -2})));
  EXPECT_FALSE(overlaps_itself(view(0, {}, {})));
  EXPECT_FALSE(overlaps_itself(view(0, {0, 7}, {1, 1})));
}

// Against the sets of addresses.
TEST(Overlap, MatchesBruteForceForRandomStrides) {
  Random random(5);
  int apart = 0;
  for (int i = 0; i < 3000; ++i) {
    const auto draw = [&](std::uint64_t most) { return static_cast<std::int64_t>(random.below(most)); };
    const ArrayView v =
        view(400, {1 + draw(4), 1 + draw(4), 1 + draw(4)}, {draw(40) - 20, draw(14) - 4, draw(5) - 1});
    std::set<std::int64_t> places;
    for (std::int64_t a = 0; a < v.extents[0]; ++a)
      for (std::int64_t b = 0; b < v.extents[1]; ++b)
        for (std::int64_t c = 0; c < v.extents[2]; ++c)
          places.insert(a * v.strides[0] + b * v.strides[1] + c * v.strides[2]);
    const bool wanted = static_cast<std::int64_t>(places.size()) != v.count();
    apart += wanted ? 0 : 1;
    ASSERT_EQ(overlaps_itself(v), wanted) << to_string(v.extents) << " by " << to_string(v.strides);
  }
  EXPECT_GT(apart, 500);
}

bool clashes(const std::vector<Access>& accesses) { return find_conflict(accesses).has_value(); }

TEST(Conflicts, FindsAWriteThatAnotherCallReadsOrWrites) {
  const auto left = view(0, {8, 4}, {10, 1}), right = view(4, {8, 6}, {10, 1}), both = view(0, {80}, {1}),
             beyond = view(80, {5}, {1});
  EXPECT_FALSE(clashes({}));
  EXPECT_FALSE(clashes({{left, true, 0}, {right, true, 1}, {beyond, false, 0}, {beyond, false, 1}}));
  EXPECT_FALSE(clashes({{both, false, 0}, {both, false, 1}, {left, false, 2}}));
  EXPECT_FALSE(clashes({{left, true, 0}, {left, false, 0}})) << "of one call";
  EXPECT_EQ(find_conflict(std::vector<Access>{{left, true, 0}, {right, false, 0}, {left, true, 1}}),
            std::pair(std::size_t{0}, std::size_t{2}));
  EXPECT_EQ(find_conflict(std::vector<Access>{{both, false, 0}, {beyond, true, 0}, {right, true, 1}}),
            std::pair(std::size_t{2}, std::size_t{0}));
}

bool any_pair(const std::vector<Access>& accesses,
              const std::function<bool(const Access&, const Access&)>& counts) {
  for (const Access& a : accesses)
    for (const Access& b : accesses)
      if (a.written && counts(a, b) && overlap(a.view, b.view)) return true;
  return false;
}

// What a call itself writes and reads is looked at elsewhere. Against every pair by itself, whole matrices
// and parts of one, many of them alike.
TEST(Conflicts, MatchesComparisonOfEveryPair) {
  Random random(6);
  int clashing = 0, apart = 0;
  for (int i = 0; i < 4000; ++i) {
    const auto draw = [&](std::uint64_t most) { return static_cast<std::int64_t>(random.below(most)); };
    std::vector<Access> accesses;
    for (std::int64_t j = 0; j < 2 + draw(9); ++j) {
      const std::int64_t rows = 1 + draw(3), cols = 1 + draw(4), part = draw(6),
                         at = draw(3) == 0 ? draw(900) : 30 * draw(30) + 5 * part;
      if (j != 0 && draw(4) == 0)
        accesses.push_back(accesses[static_cast<std::size_t>(draw(static_cast<std::uint64_t>(j)))]);
      else accesses.push_back({view(at, {rows, cols}, {30, 1}), draw(3) == 0, 0});
      accesses.back().call = random.below(4);
      if (accesses.back().view.data > memory + 930) accesses.pop_back();
    }
    if (any_pair(accesses, [](const Access& a, const Access& b) { return a.call == b.call && !b.written; }))
      continue;
    const bool wanted = any_pair(accesses, [](const Access& a, const Access& b) { return a.call != b.call; });
    (wanted ? clashing : apart) += 1;
    ASSERT_EQ(clashes(accesses), wanted) << i;
  }
  EXPECT_GT(clashing, 500);
  EXPECT_GT(apart, 500);
}

}  // namespace
}  // namespace tessera
