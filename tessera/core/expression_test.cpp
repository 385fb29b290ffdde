// SPDX-License-Identifier: Apache-2.0
#include "tessera/core/expression.hpp"
#include <gtest/gtest.h>
#include <limits>
#include "tessera/core/error.hpp"

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

TEST(Expression, SaysWhatItCannotRead) {
  EXPECT_NE(complaint("m + ").find("expected a whole number or a name"), std::string::npos)
      << complaint("m + ");
  EXPECT_NE(complaint("m x").find("expected an operator"), std::string::npos);
  EXPECT_NE(complaint("q").find("nothing is called 'q'"), std::string::npos);
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

}  // namespace
}  // namespace tessera
