// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <algorithm>
#include <cmath>
#include <set>
#include "tessera/tune/space.hpp"
#include "tessera/tune/tuner.hpp"
#include "tests/made_up.hpp"

namespace tessera::tune {
namespace {

using made_up::choice;

Variant compiled() {
  std::vector<Choice> choices;
  for (const int tile : {16, 8, 32})
    for (const int unroll : {0, 1}) choices.push_back(choice({{"tile", tile}, {"unroll", unroll}}));
  return made_up::variant("compiled", std::move(choices));
}

Variant shaped() { return made_up::variant("shaped", {choice({}, {{"x", 1, 8, 3}, {"y", 2, 8, 4}})}); }

std::vector<std::string> words(const Space& space) {
  std::vector<std::string> out;
  for (const Config& config : space.configs)
    out.push_back(to_string(config.tuning) + (config.absent ? " " + *config.absent : ""));
  return out;
}

TEST(Space, EveryCompiledChoiceAndPowersOfTwo) {
  const Variant a = compiled(), b = shaped();
  const Space space = space_of({&a, &b}, {.open_ranges = true});
  EXPECT_EQ(space.all, 6u + 5u * 3u);
  EXPECT_EQ(words(space)[0], "tile=16,unroll=0");
  EXPECT_EQ(words(space)[6], "x=1,y=2");
  EXPECT_EQ(words(space)[12], "x=3,y=2") << "the default is among them";
  EXPECT_EQ(describe(space), "21 of 21 configurations kept");
}

TEST(Space, ListedValuesAloneWhereARangeHasThem) {
  Variant listed = shaped();
  listed.choices[0].ranges = {{.name = "x", .first = 0, .last = 192, .value = 0, .values = {0, 64, 192}}};
  EXPECT_EQ(words(space_of({&listed}, {.open_ranges = true})),
            (std::vector<std::string>{"x=0", "x=64", "x=192"}));
}

TEST(Space, NamedValues) {
  const Variant a = compiled(), b = shaped();
  EXPECT_EQ(words(space_of({&b}, {.over = {{{"x", 7}}, {{"x", 8}}}})),
            (std::vector<std::string>{"x=7,y=4", "x=8,y=4"}));
  EXPECT_EQ(words(space_of({&a}, {.over = {{{"tile", 8}}}})),
            (std::vector<std::string>{"tile=8,unroll=0", "tile=8,unroll=1"}));
  EXPECT_EQ(words(space_of({&a}, {.fixed = {{"unroll", 1}, {"tile", 16}}})),
            (std::vector<std::string>{"tile=16,unroll=1"}));
  EXPECT_EQ(space_of({&a, &b}, {.over = {{{"tile", 8}}, {{"tile", 16}}}}).configs.size(), 5u)
      << "who has no such parameter comes once";
}

TEST(Space, KeepsUnavailableCombinationsWithTheirReason) {
  const Variant a = compiled();
  EXPECT_EQ(words(space_of({&a}, {.over = {{{"tile", 5}}, {{"tile", 8}}}})),
            (std::vector<std::string>{"tile=5 has no choice with tile=5; it has tile=8, 16, 32",
                                      "tile=8,unroll=0", "tile=8,unroll=1"}));
}

TEST(Space, ConditionsAreCounted) {
  const Variant a = compiled(), b = shaped();
  const Space space = space_of(
      {&a, &b}, {.open_ranges = true, .where = {"x*y<=16", "tile<m"}, .sizes = {{"m", 32}, {"x", 1000}}});
  EXPECT_EQ(space.all, 21u);
  ASSERT_EQ(space.dropped.size(), 2u);
  EXPECT_EQ(space.dropped[0].second, 4u) << "x is the parameter, not the size";
  EXPECT_EQ(space.dropped[1].second, 2u);
  EXPECT_EQ(describe(space), "15 of 21 configurations kept; 4 dropped by x*y<=16; 2 dropped by tile<m");
}

TEST(Space, LargeCountsAreGrouped) {
  const Variant wide = made_up::variant(
      "wide", {choice({}, {{"x", 1, 1 << 11, 1}, {"y", 1, 1 << 11, 1}, {"z", 1, 1 << 8, 1}})});
  EXPECT_EQ(describe(space_of({&wide}, {.open_ranges = true, .where = {"x==1"}})),
            "108 of 1,296 configurations kept; 1,188 dropped by x==1");
}

TEST(Space, ReportsErrors) {
  const Variant a = compiled(), b = shaped();
  EXPECT_THROW(space_of({&a}, {.over = {{{"z", 1}}}}), Error);
  EXPECT_THROW(space_of({&a}, {.fixed = {{"z", 1}}}), Error);
  EXPECT_THROW(space_of({&a}, {.where = {"x<3"}}), Error) << "nobody has x";
  EXPECT_THROW(space_of({&b}, {.open_ranges = true, .where = {"x<"}}), Error);
  EXPECT_THROW(space_of({&b}, {.over = {{{"x", std::int64_t{1} << 40}}}}), Error);
}

}  // namespace

namespace {

const Variant& grid() {
  static const Variant out =
      made_up::variant("grid", {made_up::choice({}, {{"x", 1, 1 << 9, 1}, {"y", 1, 1 << 9, 1}})});
  return out;
}

std::vector<Config> configs() { return space_of({&grid()}, {.open_ranges = true}).configs; }

// Fastest at x = 64, y = 16; slower in every direction. Fails if x·y is too large.
std::optional<double> seconds(const Config& config) {
  const int x = config.tuning["x"], y = config.tuning["y"];
  if (x * y > 16384) return std::nullopt;
  return 1 + std::abs(std::log2(x / 64.0)) + std::abs(std::log2(y / 16.0));
}

// Runs the search until `most` places were proposed; returns them in order.
std::vector<std::size_t> walk(Search& search, const std::vector<Config>& space, std::size_t most,
                              std::size_t batch) {
  std::vector<std::size_t> out;
  while (out.size() < most) {
    const auto places = search.next(std::min(batch, most - out.size()));
    if (places.empty()) break;
    EXPECT_LE(places.size(), batch);
    for (const std::size_t place : places) search.report_time(place, seconds(space[place]));
    out.insert(out.end(), places.begin(), places.end());
  }
  return out;
}

TEST(Search, EachVisitsEverythingOnce) {
  const auto space = configs();
  ASSERT_EQ(space.size(), 100u);
  for (const char* name : {"exhaustive", "random", "local"})
    for (const std::size_t batch : {std::size_t{1}, std::size_t{7}}) {
      const auto places = walk(*search_named(name, space, 3), space, 1000, batch);
      EXPECT_EQ(places.size(), space.size()) << name;
      EXPECT_EQ(std::set<std::size_t>(places.begin(), places.end()).size(), space.size()) << name;
    }
  EXPECT_THROW((void)search_named("clever", space, 1), Error);
}

TEST(Search, TheSeedDecidesTheOrder) {
  const auto space = configs();
  for (const char* name : {"random", "local"}) {
    const auto one = walk(*search_named(name, space, 1), space, 1000, 4);
    EXPECT_EQ(one, walk(*search_named(name, space, 1), space, 1000, 4)) << name;
    EXPECT_NE(one, walk(*search_named(name, space, 2), space, 1000, 4)) << name;
  }
  EXPECT_EQ(walk(*search_named("exhaustive", space, 1), space, 5, 2),
            (std::vector<std::size_t>{0, 1, 2, 3, 4}));
}

TEST(Search, ALocalOneFindsAValleyInFewTrials) {
  const auto space = configs();
  const auto places = walk(*search_named("local", space, 1), space, 45, 4);
  EXPECT_EQ(places[0], 0u) << "it starts at the first place";
  const auto best = std::ranges::min_element(
      places, {}, [&](std::size_t place) { return seconds(space[place]).value_or(INFINITY); });
  EXPECT_EQ(to_string(space[*best].tuning), "x=64,y=16");
}

TEST(Search, ALocalOneLeavesPlacesThatFail) {
  auto space = configs();
  std::ranges::swap(space[0], space.back());  // it starts where everything around fails
  ASSERT_FALSE(seconds(space[0]));
  EXPECT_EQ(walk(*search_named("local", space, 1), space, 1000, 3).size(), space.size());
}

}  // namespace

}  // namespace tessera::tune
