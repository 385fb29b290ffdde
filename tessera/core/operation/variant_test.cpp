// SPDX-License-Identifier: Apache-2.0
#include "tessera/core/operation/variant.hpp"
#include <gtest/gtest.h>
#include "tessera/core/text/suggest.hpp"
#include "tessera/core/operation/operation.hpp"

namespace tessera {
namespace {

Variant toy_variant() {
  Variant v;
  v.idea = "an idea";
  v.choices.resize(2);
  v.choices[0].tuning = {{"tile", 16}};
  v.choices[1].tuning = {{"tile", 8}};
  v.choices[1].ranges = {{"x", 1, 64, 32}};
  for (Choice& choice : v.choices)
    choice.prepare[Element::f32] = without_plan([](const Arguments&, const Tuning&, Run&) {});
  return v;
}

TEST(Variant, ReadsItsPlaceFromItsFileName) {
  register_variant(toy_variant(), {"/anywhere/ops/toy_operation/gpu_07_two_words.simt.cu", 1});
  register_variant(toy_variant(), {"ops/toy_operation/gpu_03_early.simt.cu", 1});
  register_variant(toy_variant(), {"ops/toy_operation/cpu_09_first.cpp", 1});
  const auto ladder = ladder_of("toy_operation");
  ASSERT_EQ(ladder.size(), 3u);
  EXPECT_EQ(ladder[0]->name, "first");
  EXPECT_EQ(ladder[1]->name, "early");
  EXPECT_EQ(ladder[2]->name, "two_words");
  EXPECT_EQ(ladder[2]->ladder, "gpu");
  EXPECT_EQ(ladder[2]->place, 7);
  EXPECT_EQ(ladder[2]->file, "toy_operation/gpu_07_two_words.simt.cu");
  EXPECT_THROW(register_variant(toy_variant(), {"ops/toy_operation/nonsense.cpp", 1}), Error);
  EXPECT_THROW(register_variant(toy_variant(), {"ops/toy_operation/gpu_x7_a.cpp", 1}), Error);
}

TEST(Variant, FindsAChoiceByItsTuning) {
  const Variant v = toy_variant();
  EXPECT_EQ(v.find({}), &v.choices[0]);
  EXPECT_EQ(v.find({{"tile", 8}}), &v.choices[1]);
  EXPECT_EQ(v.find({{"x", 7}}), &v.choices[1]);
  EXPECT_EQ(v.find({{"tile", 9}}), nullptr);
  EXPECT_EQ(to_string(v.choices[1].defaults()), "tile=8,x=32");
}

TEST(Variant, ListedValuesAreTheOnlyOnes) {
  Variant v = toy_variant();
  v.choices[1].ranges[0] = {.name = "x", .first = 0, .last = 192, .value = 0, .values = {0, 64, 192}};
  const Arguments arguments(Signature{}, Element::f32, {}, {});
  const auto reason = [&](int x) {
    return v.refuses(v.choices[1], arguments, {{"tile", 8}, {"x", x}}, Device{}).value_or("");
  };
  EXPECT_EQ(reason(64), "");
  EXPECT_EQ(reason(100), "x = 100 is none of 0, 64, 192");
  EXPECT_EQ(reason(193), "x = 193 is not within 0 to 192");
}

TEST(Tuning, ReadsWhatItWrites) {
  const Tuning t = parse_tuning("tile=16,x=4*8");
  EXPECT_EQ(t["x"], 32);
  EXPECT_EQ(parse_tuning(to_string(t)), t);
  EXPECT_THROW((void)parse_tuning("tile"), Error);
  EXPECT_THROW((void)parse_tuning("=3"), Error);
  EXPECT_THROW((void)parse_tuning("tile=1e-3"), Error);
}

TEST(Names, TheNearestIsSuggested) {
  EXPECT_EQ(nearest("shard_tiles", {"shared_tiles", "cached_tiles"}), "shared_tiles");
  EXPECT_EQ(nearest("zebra", {"shared_tiles", "naive"}), "");
  EXPECT_EQ(nearest("sni", {"ln", "sin"}), "sin") << "neighbours exchanged are one edit";
  EXPECT_EQ(nearest("fitler", {"resize", "filter"}), "filter");
  EXPECT_EQ(nearest("xx", {"m", "n", "k"}), "") << "every letter would be another";
}

TEST(Names, WithoutANearOneAllAreReported) {
  EXPECT_EQ(suggestion("shard_tiles", {"shared_tiles", "naive"}), "; did you mean 'shared_tiles'?");
  EXPECT_EQ(suggestion("zebra", {"shared_tiles", "naive"}), "; there is shared_tiles, naive");
  EXPECT_EQ(suggestion("zebra", {}), "");
}

}  // namespace
}  // namespace tessera
