// SPDX-License-Identifier: Apache-2.0
#include "tessera/core/text/expression.hpp"
#include <gtest/gtest.h>
#include <limits>
#include "tessera/core/operation/arguments.hpp"
#include "tessera/core/text/error.hpp"

namespace tessera {
namespace {

std::string complaint(std::string_view text) {
  try {
    return "gave " + std::to_string(evaluate(text, {{"m", 3}}));
  } catch (const Error& e) {
    return e.what();
  }
}

TEST(Expression, FollowsTheUsualRules) {
  EXPECT_EQ(evaluate("65536*256"), 16777216);
  EXPECT_EQ(evaluate("2+3*4"), 14);
  EXPECT_EQ(evaluate("(2+3)*4"), 20);
  EXPECT_EQ(evaluate("7-2-1"), 4);
  EXPECT_EQ(evaluate("64/4/2"), 8);
  EXPECT_EQ(evaluate("-(3) + - -5"), 2);
  EXPECT_EQ(evaluate("(width + 7) / 8", {{"width", 17}}), 3);
}

TEST(Expression, TakesPowers) {
  EXPECT_EQ(evaluate("2^20"), 1 << 20);
  EXPECT_EQ(evaluate("3*2^3^2-1"), 1535);
  EXPECT_EQ(evaluate("-2^2"), -4);
  EXPECT_EQ(evaluate("(-2)^3"), -8);
  EXPECT_EQ(evaluate("(-1)^999999999999+0^0+1^9999999999"), 1);
  EXPECT_NE(complaint("2^63").find("larger than 2^63"), std::string::npos);
  EXPECT_NE(complaint("2^-1").find("negative power"), std::string::npos);
}

TEST(Expression, TakesPowersOfTen) {
  EXPECT_EQ(evaluate("1e6"), 1'000'000);
  EXPECT_EQ(evaluate("2*3E+2+1"), 601);
  EXPECT_EQ(evaluate("0e99999999999"), 0);
  EXPECT_EQ(evaluate("9e18"), 9'000'000'000'000'000'000);
  EXPECT_NE(complaint("1e19").find("larger than 2^63"), std::string::npos);
  EXPECT_NE(complaint("1e-3").find("expected an operator"), std::string::npos);
  EXPECT_NE(complaint("1e").find("expected an operator"), std::string::npos);
}

TEST(Expression, ReportsSyntaxErrors) {
  EXPECT_NE(complaint("m + ").find("expected a whole number or a name"), std::string::npos)
      << complaint("m + ");
  EXPECT_NE(complaint("m x").find("expected an operator"), std::string::npos);
  EXPECT_EQ(complaint("2 + q"), "'2 + q', at character 5: nothing is called 'q'");
  EXPECT_NE(complaint("1/0").find("division by zero"), std::string::npos);
  EXPECT_NE(complaint("(1").find("expected ')'"), std::string::npos);
  EXPECT_NE(complaint("").find("expected"), std::string::npos);
}

TEST(Expression, RefusesWhatDoesNotFit) {
  EXPECT_NE(complaint("9223372036854775808").find("larger than 2^63"), std::string::npos);
  EXPECT_NE(complaint("4611686018427387904*2").find("larger than 2^63"), std::string::npos);
  EXPECT_NE(complaint("9223372036854775807+1").find("larger than 2^63"), std::string::npos);
  const std::string least = "(0-9223372036854775807-1)";
  EXPECT_NE(complaint(least + "/(0-1)").find("larger than 2^63"), std::string::npos);
  EXPECT_NE(complaint("-" + least).find("larger than 2^63"), std::string::npos);
  EXPECT_EQ(evaluate(least + "/1"), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(evaluate("7/(0-1)"), -7);
  EXPECT_NE(complaint(std::string(100000, '(')).find("nested too deeply"), std::string::npos);
  EXPECT_NE(complaint(std::string(100000, '-')).find("nested too deeply"), std::string::npos);
}

const Dims condition_names{{"m", 128}, {"n", 64}, {"k", 8}};

TEST(Condition, ComparesExpressions) {
  EXPECT_TRUE(holds("m*n<=8192", condition_names));
  EXPECT_FALSE(holds("m*n<8192", condition_names));
  EXPECT_TRUE(holds(" m == 2 * n ", condition_names));
  EXPECT_TRUE(holds("k != n", condition_names));
  EXPECT_FALSE(holds("k >= n", condition_names));
  EXPECT_TRUE(holds("(m + n) / 2 > k", condition_names));
  EXPECT_TRUE(holds("-m < 0", condition_names));
}

TEST(Condition, JoinsComparisons) {
  EXPECT_TRUE(holds("m == 1 || n == 64 && k == 8", condition_names));
  EXPECT_FALSE(holds("(m == 128 || n == 1) && k == 1", condition_names));
  EXPECT_TRUE(holds("!(m == n) && !(k > 8)", condition_names));
  EXPECT_TRUE(holds("((m > n))", condition_names));
  EXPECT_TRUE(holds("m == 1 || m == 2 || m == 128", condition_names));
}

TEST(Condition, ReportsErrorsDespiteShortCircuit) {
  for (const char* text : {"", "m", "m <", "< m", "m < z", "m == 128 || z == 1", "m < 1 && z < 1",
                           "m == 128 ||", "m <= 128 n", "(m < 1", "m = 1", "m < n < k", "!"})
    EXPECT_THROW((void)holds(text, condition_names), Error) << text;
  EXPECT_THROW((void)holds(std::string(5000, '!') + "m==1", condition_names), Error);
  EXPECT_THROW((void)holds(std::string(5000, '(') + "m==1" + std::string(5000, ')'), condition_names), Error);
}

TEST(Condition, ListsItsNames) {
  EXPECT_EQ(names_in("m*n<=16384 && (m==1||k_2<3)"), (std::vector<std::string>{"m", "n", "k_2"}));
  EXPECT_TRUE(names_in("1 < 2").empty());
}

using List = std::vector<double>;

TEST(Numbers, ReadsListsAndEvenlySpacedRanges) {
  EXPECT_EQ(numbers_of(""), List());
  EXPECT_EQ(numbers_of("1.5"), List{1.5});
  EXPECT_EQ(numbers_of("1,-2.5, 3e2"), (List{1, -2.5, 300}));
  EXPECT_EQ(numbers_of("-1:1:5"), (List{-1, -0.5, 0, 0.5, 1}));
  EXPECT_EQ(numbers_of("  1 +2  -.5 "), (List{1, 2, -0.5}));
  EXPECT_EQ(numbers_of("0 : 1 : 2"), (List{0, 1}));
  EXPECT_EQ(numbers_of("7:9:1"), List{7});
  EXPECT_EQ(numbers_of("2:2:3"), (List{2, 2, 2}));
}

TEST(Numbers, ReportsInvalidNumbers) {
  for (const char* text :
       {" ",   ",",     "1,,2", "1,2,",    ",1",    "1,2 3",   "+-1",     "++1", "1+2", "1e400",   "1e-400",
        "nan", "1,inf", "1:2",  "1:2:3:4", "1:2:0", "1:2:2.5", "1:nan:3", "a",   "1;2", "1:2:1e9", "1:2:nan"})
    EXPECT_THROW((void)numbers_of(text), Error) << text;
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
