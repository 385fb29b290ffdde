// SPDX-License-Identifier: Apache-2.0
#include "falling_error.hpp"
#include <gtest/gtest.h>
#include <cmath>

namespace tessera::integration {
namespace {

std::optional<FallingError> of(const std::string& formula, const std::string& limits) {
  Setting setting;
  setting.formula = formula;
  setting.limits = read_limits(limits);
  setting.a = setting.limits.ranges[0].from;
  setting.b = setting.limits.ranges[0].to;
  return falling_error(setting);
}

TEST(FallingError, AnEndOfInfiniteSlopeShows) {
  const auto circle = of("sqrt(1-x^2)", "0 1");
  ASSERT_TRUE(circle);
  EXPECT_EQ(circle->exponent, 1.5);
  EXPECT_NEAR(circle->factor, std::sqrt(2.0) * -0.20788622497735457, 1e-6);
  EXPECT_NEAR(static_cast<double>(circle->limit), std::acos(-1.0) / 4, 1e-14);
}

// Where slopes are finite: (f'(b) - f'(a)) / 12.
TEST(FallingError, SmoothEndsFallByTheSquare) {
  const auto falling = of("exp(x)", "0 1");
  ASSERT_TRUE(falling);
  EXPECT_EQ(falling->exponent, 2);
  EXPECT_NEAR(falling->factor, (std::exp(1.0) - 1) / 12, 1e-5);
  EXPECT_NEAR(static_cast<double>(falling->limit), std::exp(1.0) - 1, 1e-14);
  const auto wide = of("x^2", "-1 3");
  ASSERT_TRUE(wide);
  EXPECT_NEAR(wide->factor, 8.0 / 12, 1e-9);
}

TEST(FallingError, WhatDoesNotFallLikeAPowerIsLeftOut) {
  EXPECT_FALSE(of("exp(cos(x))", "0 2*pi"));  // faster than any power
  EXPECT_FALSE(of("1/x", "0 1"));
  EXPECT_FALSE(of("2*x+1", "0 1"));  // no error to fall
}

}  // namespace
}  // namespace tessera::integration
