// SPDX-License-Identifier: Apache-2.0
#include "trapezoid_error.hpp"
#include <gtest/gtest.h>
#include <cmath>
#include "ops/integrate/integrate_options.hpp"

namespace tessera::integration {
namespace {

std::optional<Convergence> of(const std::string& formula, const std::string& limits) {
  const VariableRange range = read_limits(limits).ranges[0];
  const auto program = formula::compile<double>(formula::parse(formula), {range.variable});
  const auto f = [&](long double x) { return bounded(program, {x, 0}).value; };
  return convergence_of(doubled_sums(f, range.from, range.to, 13), range.to - range.from, 0x1p-64L);
}

TEST(ConvergenceOf, DetectsAnEndOfInfiniteSlope) {
  const auto circle = of("sqrt(1-x^2)", "0 1");
  ASSERT_TRUE(circle);
  EXPECT_EQ(circle->exponent, 1.5);
  EXPECT_NEAR(circle->factor, std::sqrt(2.0) * -0.20788622497735457, 1e-6);
  EXPECT_NEAR(static_cast<double>(circle->limit), std::acos(-1.0) / 4, 1e-14);
}

// Where slopes are finite: (f'(b) - f'(a)) / 12.
TEST(ConvergenceOf, SmoothEndsFallByTheSquare) {
  const auto order = of("exp(x)", "0 1");
  ASSERT_TRUE(order);
  EXPECT_EQ(order->exponent, 2);
  EXPECT_NEAR(order->factor, (std::exp(1.0) - 1) / 12, 1e-5);
  EXPECT_NEAR(static_cast<double>(order->limit), std::exp(1.0) - 1, 1e-14);
  const auto wide = of("x^2", "-1 3");
  ASSERT_TRUE(wide);
  EXPECT_NEAR(wide->factor, 8.0 / 12, 1e-9);
}

TEST(ConvergenceOf, OmitsErrorsThatFollowNoPowerLaw) {
  EXPECT_FALSE(of("exp(cos(x))", "0 2*pi"));  // faster than any power
  EXPECT_FALSE(of("1/x", "0 1"));
  EXPECT_FALSE(of("2*x+1", "0 1"));  // no error to fall
}

}  // namespace
}  // namespace tessera::integration
