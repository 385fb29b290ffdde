// SPDX-License-Identifier: Apache-2.0
#include "tessera/formula/program.hpp"
#include <gtest/gtest.h>
#include <cmath>
#include <limits>
#include <type_traits>
#include "tessera/core/text/error.hpp"

namespace tessera::formula {
namespace {

template <class T = double>
T value(std::string_view text, std::vector<T> at = {}) {
  const std::vector<std::string> names{"x", "y", "z"};
  return evaluate<T>(compile<T>(parse(text), {names.begin(), names.begin() + static_cast<long>(at.size())}),
                     at);
}

int steps(std::string_view text) { return compile<double>(parse(text), {"x", "y"}).step_count; }

static_assert(std::is_trivially_copyable_v<Program<double>> && std::is_trivially_copyable_v<Program<float>>);
static_assert(sizeof(Program<double>) <= 4000, "a kernel takes it by value, with its other arguments");

TEST(Program, Arithmetic) {
  EXPECT_EQ(value("1+2*3-8/4"), 5);
  EXPECT_EQ(value("-x^2", {3}), -9);
  EXPECT_EQ(value("2^3^2"), 512);
  EXPECT_EQ(value("x", {7}), 7);
  EXPECT_EQ(value("sqrt(1-x^2)", {0.6}), std::sqrt(1 - 0.6 * 0.6));
  EXPECT_EQ(value("fma(x,y,-1)", {0.1, 10}), std::fma(0.1, 10, -1));
  EXPECT_EQ(value("min(3,x,2)", {1}), 1);
  EXPECT_EQ(value("fmod(-7,3)"), -1);
  EXPECT_EQ(value("round(2.5)+round(-0.5)+floor(-1.5)+ceil(1.2)+trunc(-1.7)"), 3 - 1 - 2 + 2 - 1);
  EXPECT_EQ(value("sign(-3)+sign(0)+sign(2)"), 0);
}

TEST(Program, TruthIsOneOrZero) {
  EXPECT_EQ(value("x<2", {1}), 1);
  EXPECT_EQ(value("x>2", {1}), 0);
  EXPECT_EQ(value("(x<=1)+(x>=1)+(x==1)+(x!=1)", {1}), 3);
  EXPECT_EQ(value("x<2 and not x<1 or 0", {1}), 1);
  EXPECT_EQ(value("if(x<0,-x,x)", {-4}), 4);
  EXPECT_EQ(value("x<0 ? 1/0 : 5", {4}), 5);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(value("x<1", {nan}) + value("x>=1", {nan}) + value("x==x", {nan}), 0);
}

TEST(Program, PropagatesNaNExceptInFminAndFmax) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(std::isnan(value("min(x,1)", {nan})));
  EXPECT_TRUE(std::isnan(value("max(1,x)", {nan})));
  EXPECT_EQ(value("fmin(x,1)", {nan}), 1);
  EXPECT_EQ(value("fmax(1,x)", {nan}), 1);
}

// In float, not in double and rounded at the end.
TEST(Program, FloatMeansFloat) {
  const float x = 0.1f;
  EXPECT_EQ(value<float>("1-x*x", {x}), 1.0f - x * x);
  EXPECT_EQ(value<float>("0.1+x", {x}), 0.1f + x);
  EXPECT_EQ(value<float>("x+1e8-1e8", {x}), 0);
  EXPECT_THROW(value<float>("1e300*x", {x}), Error);
}

TEST(Program, SmallWholePowersAreProductsInOneOrder) {
  const double x = 1.1;
  EXPECT_EQ(value("x^2", {x}), x * x);
  EXPECT_EQ(value("x^3", {x}), x * (x * x));
  EXPECT_EQ(value("x^5", {x}), x * ((x * x) * (x * x)));
  EXPECT_EQ(value("pow(x,4)", {x}), (x * x) * (x * x));
  EXPECT_EQ(value("x^-2", {x}), 1 / (x * x));
  EXPECT_EQ(value("x^0", {x}), 1);
  EXPECT_EQ(value("x^0.5", {x}), std::sqrt(x));
  EXPECT_EQ(value("x^-0.5", {x}), 1 / std::sqrt(x));
  EXPECT_EQ(steps("x^16"), 4);
  EXPECT_EQ(steps("x^17"), 1);
  EXPECT_EQ(steps("x^y"), 1);
}

TEST(Program, EqualPartsAreComputedOnce) {
  EXPECT_EQ(steps("sin(x)*sin(x)"), 2);
  EXPECT_EQ(steps("(x+y)*(y+x)"), 2);
  EXPECT_EQ(steps("(x-y)*(y-x)"), 3);
}

TEST(Program, FoldsConstantsOnlyIfTheBitsStay) {
  EXPECT_EQ(steps("2*pi/3"), 0);
  EXPECT_EQ(steps("sin(1)*x"), 1);
  EXPECT_EQ(steps("erf(1)*x"), 2);
  EXPECT_EQ(steps("1*x/1"), 0);
  EXPECT_EQ(steps("x+0"), 1);  // -0
  EXPECT_EQ(steps("x*0"), 1);  // NaN, infinity, -0
  EXPECT_EQ(steps("-(-x)"), 0);
  EXPECT_EQ(steps("x/4*0.25"), 2);
  EXPECT_EQ(compile<double>(parse("x/4"), {"x"}).steps[0].op, Op::mul);
  EXPECT_EQ(compile<double>(parse("x/3"), {"x"}).steps[0].op, Op::div);
}

TEST(Program, RegistersAreUsedAgain) {
  std::string text = "x";
  for (int i = 0; i < 60; ++i) text = "sin(" + text + ")";
  const auto program = compile<double>(parse(text), {"x"});
  EXPECT_EQ(program.step_count, 60);
  EXPECT_EQ(program.register_count, 1);
}

TEST(Program, RefusesFormulasBeyondItsLimits) {
  EXPECT_THROW(compile<double>(parse("x+y"), {"x"}), Error);
  EXPECT_THROW(compile<double>(parse("x"), std::vector<std::string>(40, "x")), Error);
  std::string text = "x";
  for (int i = 0; i < 300; ++i) text += "+sin(x+" + std::to_string(i) + ")";
  EXPECT_THROW(compile<double>(parse(text), {"x"}), Error);
  try {
    compile<double>(parse("1+longer"), {"x"});
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "nothing gives a value to 'longer' at column 3\n  1+longer\n    ^");
  }
}

}  // namespace
}  // namespace tessera::formula
