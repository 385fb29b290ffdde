// SPDX-License-Identifier: Apache-2.0
#include "tessera/run/choose.hpp"
#include <gtest/gtest.h>

namespace tessera {
namespace {

Choice choice(Tuning fixed, std::initializer_list<Element> elements, std::vector<Range> ranges = {}) {
  Choice out;
  out.tuning = std::move(fixed);
  out.ranges = std::move(ranges);
  for (const Element element : elements)
    out.prepare[element] = without_plan([](const Arguments&, const Tuning&, Run&) {});
  return out;
}

// Like a rung whose model chooses among tiles, with fewer tiles for one element type.
Variant by_tiles() {
  Variant out;
  const std::vector<Range> splits{{.name = "splits", .first = 0, .last = 16, .value = 0}};
  out.choices = {choice({}, {Element::f64, Element::bf16}, splits),
                 choice({{"tile", 1}}, {Element::f64, Element::bf16}, splits),
                 choice({{"tile", 2}}, {Element::f64, Element::bf16}, splits),
                 choice({{"tile", 3}}, {Element::f64}, splits)};
  return out;
}

TEST(KnownTunings, ListTheAlternatives) {
  const Variant variant = by_tiles();
  EXPECT_EQ(no_choice_with(variant, {{"tile", 9}}), "has no choice with tile=9; it has tile=1, 2, 3");
  EXPECT_EQ(no_choice_with(variant, {{"tile", 9}}, Element::f64),
            "has no choice with tile=9; it has tile=1, 2, 3");
  EXPECT_EQ(no_choice_with(variant, {{"tiel", 1}}),
            "has no choice with tiel=1: 'tiel' is none of its parameters; did you mean 'tile'?");
}

TEST(KnownTunings, ListOnlyTuningsOfTheElement) {
  const Variant variant = by_tiles();
  EXPECT_EQ(no_choice_with(variant, {{"tile", 3}}, Element::bf16),
            "has no choice with tile=3 for bf16; it has tile=1, 2");
  EXPECT_EQ(no_choice_with(variant, {{"tile", 3}}, Element::i8), "does not compute i8");
}

TEST(KnownTunings, ListWholeChoicesForUnavailableCombinations) {
  Variant variant;
  variant.choices = {choice({{"tile", 4}, {"unroll", 0}}, {Element::f32}),
                     choice({{"tile", 8}, {"unroll", 1}}, {Element::f32})};
  EXPECT_EQ(no_choice_with(variant, {{"tile", 4}, {"unroll", 1}}),
            "has no choice with tile=4,unroll=1; it has tile=4,unroll=0; tile=8,unroll=1");
  variant.choices = {choice({}, {Element::f32})};
  EXPECT_EQ(no_choice_with(variant, {{"tile", 4}}), "has no choice with tile=4; it takes no tuning");
}

}  // namespace
}  // namespace tessera
