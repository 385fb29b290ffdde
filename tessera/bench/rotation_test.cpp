// SPDX-License-Identifier: Apache-2.0
// Sets of inputs that launches take in turn: that they do, what is verified of them, and what cannot be done.
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include "tessera/bench/measure.hpp"
#include "tessera/bench/result.hpp"
#include "tessera/bench/rotation.hpp"
#include "tests/made_up_gpu.hpp"

namespace tessera::bench {
namespace {

using namespace made_up;

constexpr std::int64_t n = 100, set_size = 2 * n * 4;  // bytes of A and C

TEST(Sets, AreTogetherTwoAndAHalfCachesAtLeast) {
  constexpr int most = 100;
  for (const std::int64_t cache : {1000, 4096, 1 << 20, 60 << 20})
    for (const std::int64_t bytes : {7, 800, 24 << 10, 1 << 20, 50 << 20, 150 << 20, 200 << 20}) {
      const std::int64_t sets = sets_beyond(cache, bytes, most);
      EXPECT_GE(2 * sets * bytes, 5 * cache) << cache << " " << bytes;
      // Never twice the same, and neighbours hold different numbers; samples end where others begin.
      if (sets > 1) {
        EXPECT_EQ(sets % (sets <= most ? 2 : most), 0) << sets;
      }
      EXPECT_LT(2 * (sets - most) * bytes, 5 * cache) << "more than are needed";
    }
  EXPECT_EQ(sets_beyond(1 << 20, 0, most), 1) << "nothing to lie in a cache";
}

std::vector<const float*> launched;  // A of each launch that is timed
const float* last_used = nullptr;

void notes(const Buffers& b) {
  if (made_up_gpu().timing) launched.push_back(b.a);
  b.compute();
}
// Reads where the launch before found its input: a kept address.
void keeps_an_address(const Buffers& b) {
  if (!made_up_gpu().timing) return b.compute();
  for (std::int64_t i = 0; i < b.n; ++i) b.c[i] = 2 * (last_used != nullptr ? last_used : b.a)[i];
  last_used = b.a;
}
// A trial's own arrays hold what sets of even numbers hold.
float first_of_even = 0;
void leaves_even_ones(const Buffers& b) {
  if (!made_up_gpu().timing) first_of_even = b.a[0];
  if (!made_up_gpu().timing || b.a[0] != first_of_even) b.compute();
}
void leaves_odd_ones(const Buffers& b) {
  if (!made_up_gpu().timing) first_of_even = b.a[0];
  if (!made_up_gpu().timing || b.a[0] == first_of_even) b.compute();
}
void spoils_its_input(const Buffers& b) {
  b.compute();
  if (made_up_gpu().timing) b.a[3] += 1;
}
void writes_behind(const Buffers& b) {
  b.compute();
  if (made_up_gpu().timing) b.c[b.n] = 1;
}

class Rotated : public testing::Test {
 protected:
  void SetUp() override {
    gpu_.seconds_of_a_run = 1e-4;
    gpu_.waits = false;
    gpu_.clock = gpu_.power = nullptr;
    gpu_.graphs = gpu_.graph_launches = 0;
    gpu_.set_cache(4096);
    launched.clear();
    last_used = nullptr;
  }
  void TearDown() override {
    gpu_.set_cache(0);
    gpu_.set_memory(std::int64_t{1} << 30);
  }

  std::vector<Row> measure(const std::vector<Body>& bodies, Measuring measuring = {},
                           Where where = Where::cuda) {
    rungs_.clear();
    for (const Body body : bodies) rungs_.push_back(rung("rung", where, body));
    std::vector<Candidate> candidates;
    for (Variant& v : rungs_) candidates.push_back({.plan = {&v, &v.choices[0], {}, device(where)}});
    measuring.effort.samples = 6;
    measuring.ceilings = false;
    measuring.rotate = true;
    return bench::measure(toy_, Element::f32, {.dims = {{"n", n}}}, candidates, measuring);
  }
  Device device(Where where) {
    Device out = find_backend(where)->devices()[0];
    out.cache_bytes = gpu_.devices()[0].cache_bytes;
    return out;
  }

  const Operation toy_ = toy();
  std::vector<Variant> rungs_;
  FakeGpu& gpu_ = made_up_gpu();
};

// Between two launches of a set all others have been launched.
void expect_a_round(const std::vector<const float*>& used, std::size_t sets) {
  ASSERT_EQ(std::set(used.begin(), used.end()).size(), sets);
  std::map<const float*, std::size_t> last;
  for (std::size_t i = 0; i < used.size(); ++i) {
    if (last.contains(used[i])) {
      EXPECT_EQ(i - last[used[i]], sets) << i;
    }
    last[used[i]] = i;
  }
}

TEST_F(Rotated, NoLaunchFindsASetBeforeAllOthersWereTaken) {
  ASSERT_EQ(sets_beyond(4096, set_size, most_launches), 14);
  for (const Where where : {Where::cuda, Where::cpu}) {
    const auto rows = measure({notes, notes}, {.sustained_seconds = 0.01}, where);
    ASSERT_EQ(rows.size(), 4u);
    if (where == Where::cuda) expect_a_round(launched, 14);
    for (const Row& row : rows) {
      EXPECT_EQ(row.verified, Verified::ok) << row.finding;
      EXPECT_EQ(row.sets, 14);
      EXPECT_EQ(row.launches % 14, 0) << "a sample is of whole rounds";
      EXPECT_FALSE(row.round_trip);
    }
    EXPECT_NE(rows[0].method.find("of two sets of inputs"), std::string::npos) << rows[0].method;
  }
}

TEST_F(Rotated, GraphsGoRoundToo) {
  const Row row = measure({notes}, {.graph = true})[0];
  EXPECT_FALSE(row.exposed);
  EXPECT_EQ(gpu_.graphs, 1) << "of a whole round";
  expect_a_round(launched, 14);
  EXPECT_EQ(row.verified, Verified::ok) << row.finding;
}

// More sets than a sample launches: samples take parts of the round, a graph each.
TEST_F(Rotated, ASampleMayBeAPartOfTheRound) {
  gpu_.set_cache(100'000);
  const std::int64_t sets = sets_beyond(100'000, set_size, most_launches);
  ASSERT_EQ(sets, 400);
  for (const bool graph : {false, true}) {
    launched.clear();
    gpu_.graphs = 0;
    const Row row = measure({notes}, {.graph = graph})[0];
    EXPECT_EQ(row.sets, sets);
    EXPECT_EQ(row.launches, 100);
    EXPECT_EQ(row.verified, Verified::ok) << row.finding;
    EXPECT_EQ(gpu_.graphs, graph ? 4 : 0);
    EXPECT_EQ(launched.size(), 600u) << "six samples";
    expect_a_round(launched, 400);
  }
}

TEST_F(Rotated, WhatKeepsTheAddressesOfALaunchBeforeIsWrong) {
  EXPECT_EQ(measure({keeps_an_address})[0].verified, Verified::wrong);
}

TEST_F(Rotated, TheResultsOfTwoSetsAreLookedAt) {
  for (const Body body : {leaves_even_ones, leaves_odd_ones})
    EXPECT_EQ(measure({body})[0].verified, Verified::wrong);
}

TEST_F(Rotated, HarmToASetIsFoundAndMended) {
  for (const auto& [body, what] :
       {std::pair<Body, std::string>{spoils_its_input, "a write to the input A, in one of the sets"},
        std::pair<Body, std::string>{writes_behind,
                                     "a write outside C, behind its end, in one of the sets"}}) {
    const auto rows = measure({body, notes});
    EXPECT_EQ(rows[0].harm.find(what), 0u) << rows[0].harm;
    EXPECT_EQ(rows[0].verified, Verified::wrong);
    EXPECT_EQ(rows[1].verified, Verified::ok) << rows[1].finding;
    EXPECT_EQ(rows[1].harm, "");
  }
}

TEST_F(Rotated, OneSetThatExceedsTheCacheIsEnough) {
  gpu_.set_cache(set_size * 2 / 5);
  const Row row = measure({notes})[0];
  EXPECT_EQ(row.sets, 1);
  EXPECT_EQ(to_json(row)["sets"], 1);
  EXPECT_EQ(row.verified, Verified::ok) << row.finding;
  gpu_.set_cache(set_size * 2 / 5 + 1);
  EXPECT_EQ(measure({notes})[0].sets, 2);
}

TEST_F(Rotated, WhatCannotRotateSaysWhy) {
  gpu_.set_cache(0);
  EXPECT_NE(measure({notes})[0].reason.value_or("").find("cache is not known"), std::string::npos);
  gpu_.set_cache(4096);
  gpu_.set_memory(60'000);  // 14 sets of 1536 bytes with what lies between are more than 15 000
  EXPECT_NE(measure({notes})[0].reason.value_or("").find("more than a quarter"), std::string::npos);
  EXPECT_TRUE(launched.empty());
}

TEST_F(Rotated, TheNumberOfSetsIsKept) {
  const Row row = measure({notes})[0];
  Row blank = row;
  blank.sets = 0;
  EXPECT_EQ(recalled(to_json(row), blank).sets, 14);
}

}  // namespace
}  // namespace tessera::bench
