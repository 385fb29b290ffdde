// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include "tessera/tune/space.hpp"
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

TEST(Space, WhatNoChoiceHasKeepsItsPlace) {
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

TEST(Space, MistakesAreSaid) {
  const Variant a = compiled(), b = shaped();
  EXPECT_THROW(space_of({&a}, {.over = {{{"z", 1}}}}), Error);
  EXPECT_THROW(space_of({&a}, {.fixed = {{"z", 1}}}), Error);
  EXPECT_THROW(space_of({&a}, {.where = {"x<3"}}), Error) << "nobody has x";
  EXPECT_THROW(space_of({&b}, {.open_ranges = true, .where = {"x<"}}), Error);
  EXPECT_THROW(space_of({&b}, {.over = {{{"x", std::int64_t{1} << 40}}}}), Error);
}

}  // namespace
}  // namespace tessera::tune
