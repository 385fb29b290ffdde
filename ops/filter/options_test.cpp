// SPDX-License-Identifier: Apache-2.0
// Options that filtering refuses, and what it says: kernels that are none, numbers that no float holds,
// options that would change nothing.
#include <gtest/gtest.h>
#include "weights.hpp"
#include "filter.hpp"
#include "tessera/run/inputs.hpp"

namespace tessera::filter {
namespace {

Case sized(std::int64_t height, std::int64_t width, Arguments::Words words) {
  return {.dims = {{"images", 1}, {"height", height}, {"width", width}, {"channels", 1}},
          .words = std::move(words)};
}

TEST(Kernel, RowsOfNumbersAsTheyAreTyped) {
  using Rows = std::vector<std::vector<double>>;
  const Rows square{{1, 2}, {3, -4}};
  for (const char* text : {"1 2; 3 -4", "1,2;3,-4", " 1 , +2 ;\t3 -4 ; ", "1 2\n3 -4\n", "1 2\r\n3 -4\r\n",
                           "1 2;\n3 -4;", "[[1, 2], [3, -4]]", "[[1 2]\n [3 -4]]", "[[1,2][3,-4]]"})
    EXPECT_EQ(rows_of_numbers(text), square) << text;
  EXPECT_EQ(rows_of_numbers("[1, 2, 3]"), (Rows{{1, 2, 3}}));
  EXPECT_EQ(rows_of_numbers(".5 1e-3 -2E2"), (Rows{{0.5, 1e-3, -200}}));
}

TEST(Kernel, WhatIsNoRowOfNumbersIsReported) {
  const auto says = [](const char* text, const std::string& what) {
    try {
      (void)rows_of_numbers(text);
      ADD_FAILURE() << text;
    } catch (const Error& error) {
      const std::string said = error.what();
      EXPECT_TRUE(said.starts_with(std::string("--kernel '") + text + "': ")) << said;
      EXPECT_NE(said.find(what), std::string::npos) << said;
    }
  };
  for (const char* text : {" ", ";", ";;", "[]", "[[]]", "1 2;; 3 4", "; 1 2", "[[1, 2], []]"})
    says(text, "no number");
  for (const char* text : {"1,,2", ",1", "1,2,", "[1,2,]"}) says(text, "no number stands beside a comma");
  says("[[1,2],[3,4],]", "no row stands behind its last comma");
  for (const char* text :
       {"[1 2", "1 2]", "]1[", "[[1,2],[3,4]", "[1,2],[3,4]", "[[[1]]]", "[[1] 2]", "[", "[[1,2],,[3,4]]"})
    says(text, "brackets do not match");
  says("[[1 2]; [3 4]]", "either at ';' or at ']'");
  says("1 2; 3", "its rows have 2 and 1 weights");
  for (const char* text :
       {"1-2", "1.2.3", "0x10", "1/16", "--3", "+-3", "++3", "1 + 2", "1e", "nan", "1 inf", "π"})
    says(text, "is no finite number");
  for (const char* text : {"1e400", "1e-400"}) says(text, "beyond what a number of 64 bits can be");
}

TEST(Filter, FactorsThatNoFloatHoldsAreRefused) {
  const auto says = [](Element element, Arguments::Words words, const std::string& what) {
    try {
      Inputs inputs(*find_operation("filter"), element, sized(4, 5, std::move(words)), 1);
      (void)options_of(inputs.arguments());
      EXPECT_EQ(what, "");
    } catch (const Error& error) {
      EXPECT_EQ(error.what(), what);
    }
  };
  for (const char* scale : {"1e39", "-1e300", "1e-60"})
    says(Element::u8, {{"scale", scale}},
         std::string("--scale ") + scale + " is not a number that f32 can hold");
  says(Element::u8, {{"scale", "1e-44"}}, "");
  says(Element::u8, {{"scale", "0"}}, "");
  says(Element::u8, {{"offset", "-1e39"}}, "--offset -1e39 is not a number that f32 can hold");
  says(Element::u8, {{"offset", "1e-60"}}, "");
  const auto beyond = [](const char* value) {
    return Arguments::Words{{"border", "constant"}, {"border-value", value}};
  };
  says(Element::f32, beyond("1e39"), "--border-value 1e39 is more than f32 can hold");
  says(Element::f16, beyond("65520"), "--border-value 65520 is more than f16 can hold");
  says(Element::f16, beyond("65519"), "");
}

TEST(Filter, WordsWithoutEffectAreRefused) {
  const auto says = [](Arguments::Words words, const std::string& what) {
    try {
      Inputs inputs(*find_operation("filter"), Element::u8, sized(4, 5, std::move(words)), 1);
      (void)options_of(inputs.arguments());
      EXPECT_EQ(what, "");
    } catch (const Error& error) {
      EXPECT_EQ(error.what(), what);
    }
  };
  for (const std::string& kernel : kernel_names()) {
    const bool bell = kernel == "gaussian", sized = bell || kernel == "box";
    says({{"kernel", kernel}, {"size", "5"}}, sized ? "" : "--size 5 is only for --kernel gaussian or box");
    says({{"kernel", kernel}, {"size", "3"}}, "");
    says({{"kernel", kernel}, {"sigma", "2"}}, bell ? "" : "--sigma 2 is only for --kernel gaussian");
  }
  says({{"kernel", "1 2 1"}, {"size", "5"}}, "--size 5 is only for --kernel gaussian or box");
  for (const char* border : {"constant", "BORDER_CONSTANT", "grid-constant"})
    says({{"border", border}, {"border-value", "5"}}, "");
  for (const char* border : {"replicate", "reflect", "reflect_101", "wrap", "nearest"})
    says({{"border", border}, {"border-value", "5"}}, "--border-value 5 is only for --border constant");
}

}  // namespace
}  // namespace tessera::filter
