// SPDX-License-Identifier: Apache-2.0
// Which steps rounding leaves open, and what the value would be on their other side.
#include "tessera/formula/open_steps.hpp"
#include <gtest/gtest.h>
#include <cmath>

namespace tessera::formula {
namespace {

double moved(const char* text, double x) {
  return moved_by_open_steps(compile<double>(parse(text), {"x"}), std::span<const double>(&x, 1));
}

TEST(OpenSteps, AreThoseWhoseOperandsLieWithinTheirErrors) {
  EXPECT_EQ(moved("7*(x+1<1.5)", 0.5), 0) << "the sum is exact";
  EXPECT_EQ(moved("7*(x+1<1)", 1e-17), 7);
  EXPECT_EQ(moved("7*(x+1<1)", 1e-15), 0);
  EXPECT_EQ(moved("exp(-7*(x+1<=1))", 1e-17), 1 - std::exp(-7))
      << "by how much, not by what a slope leads to expect";
  EXPECT_EQ(moved("(x+1<1)*3+(x+2<2)*4", 1e-17), 7) << "each by itself, added up";
  EXPECT_EQ(moved("(x+1<1)-(x+1<=1)", 1e-17), 2) << "although both together would leave the value as it is";
  EXPECT_EQ(moved("5*floor(3*x)", 1 / 3.), 5) << "3 thirds are rounded to 1";
  EXPECT_EQ(moved("5*floor(3*x)", 0.4), 0);
  EXPECT_EQ(moved("fmod(x+1,0.5)", 1e-17), 0.5);
  EXPECT_EQ(moved("x+1-1 ? 2 : 9", 1e-17), 7);
  EXPECT_EQ(moved("abs(x+1-1)+max(x+1,1)", 1e-17), 0) << "these bend, and do not jump";
  EXPECT_TRUE(std::isnan(moved("x+1<1 ? sqrt(-1-x) : 1", 1e-17))) << "no value on the other side";
}

TEST(OpenSteps, InSinglePrecisionMoreAreOpen) {
  const double x = 1e-9;
  EXPECT_EQ(moved("7*(x+1<1)", x), 0);
  EXPECT_EQ(moved_by_open_steps(compile<float>(parse("7*(x+1<1)"), {"x"}), std::span<const double>(&x, 1)),
            7);
}

TEST(OpenSteps, JumpsAreKnown) {
  EXPECT_TRUE(has_jumps(compile<double>(parse("x<1"), {"x"})));
  EXPECT_TRUE(has_jumps(compile<float>(parse("1+round(x)"), {"x"})));
  EXPECT_FALSE(has_jumps(compile<double>(parse("abs(x)+max(x,1)+exp(x)"), {"x"})));
}

}  // namespace
}  // namespace tessera::formula
