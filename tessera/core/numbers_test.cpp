// SPDX-License-Identifier: Apache-2.0
#include "tessera/core/numbers.hpp"
#include <gtest/gtest.h>
#include "tessera/core/arguments.hpp"
#include "tessera/core/error.hpp"

namespace tessera {
namespace {

using List = std::vector<double>;

TEST(Numbers, AListOrAsManyAtEqualDistances) {
  EXPECT_EQ(numbers_of(""), List());
  EXPECT_EQ(numbers_of("1.5"), List{1.5});
  EXPECT_EQ(numbers_of("1,-2.5, 3e2"), (List{1, -2.5, 300}));
  EXPECT_EQ(numbers_of("-1:1:5"), (List{-1, -0.5, 0, 0.5, 1}));
  EXPECT_EQ(numbers_of("  1 +2  -.5 "), (List{1, 2, -0.5}));
  EXPECT_EQ(numbers_of("0 : 1 : 2"), (List{0, 1}));
  EXPECT_EQ(numbers_of("7:9:1"), List{7});
  EXPECT_EQ(numbers_of("2:2:3"), (List{2, 2, 2}));
}

TEST(Numbers, WhatIsNoneIsTold) {
  for (const char* text :
       {" ",   ",",     "1,,2", "1,2,",    ",1",    "1,2 3",   "+-1",     "++1", "1+2", "1e400",   "1e-400",
        "nan", "1,inf", "1:2",  "1:2:3:4", "1:2:0", "1:2:2.5", "1:nan:3", "a",   "1;2", "1:2:1e9", "1:2:nan"})
    EXPECT_THROW(numbers_of(text), Error) << text;
}

TEST(Numbers, AnOutputCountsAList) {
  Signature signature;
  signature.parameters = {parameter::input("A", {"n"}, ""), parameter::text("at", "", ""),
                          parameter::choice("only", {"no", "first"}, ""),
                          parameter::output("B", {"count(at)", "n"}, "")};
  signature.parameters.back().shaped_by = "only";
  signature.parameters.back().shapes = {{"first", {"count(at)", "1"}}};
  const ArrayView a{nullptr, Element::f32, {5}, {1}};
  const auto extents = [&](const Arguments::Words& words) {
    return Arguments(signature, Element::f32, {{"A", a}}, words).array("B").extents;
  };
  EXPECT_EQ(extents({}), (Extents{1, 5}));
  EXPECT_EQ(extents({{"at", "0:1:7"}}), (Extents{7, 5}));
  EXPECT_EQ(extents({{"at", "0,1"}, {"only", "first"}}), (Extents{2, 1}));
  EXPECT_THROW(extents({{"at", "0:1"}}), Error);
}

}  // namespace
}  // namespace tessera
