// SPDX-License-Identifier: Apache-2.0
// In f32 narrow peaks lie between two numbers, or are met by one: no rule may take what it meets for all
// there is.
#include <gtest/gtest.h>
#include <fmt/format.h>
#include <numbers>
#include <random>
#include "ops/integrate/rules/by_name.hpp"
#include "ops/integrate/rules/formula_integrand.hpp"
#include "ops/integrate/rules/unseen.hpp"

namespace tessera::quadrature {
namespace {

constexpr double single = 0x1p-24;

Answer in_single(const std::string& text, double from, double to, double relative = 1e-5) {
  const Range range{from, to, single};
  return by_name("auto", integrand_of(formula::parse(text), "x", range), range, {.relative = relative}, {},
                 {});
}

// What a test of such integrands found claimed, wrongly: a background, and peaks of about a number's width.
TEST(Unseen, PeaksBetweenNumbersAreNotOverlooked) {
  const double root = std::sqrt(std::numbers::pi), pi = std::numbers::pi;
  const struct {
    const char* text;
    double value;
  } all[] = {{"0.0184721+0.78/(1+((x-57.596991)/3.496e-06)^2)", 20 * 0.0184721 + pi * 0.78 * 3.496e-6},
             {"1.29905e-06+0.182*exp(-((x-58.063336)/1.961e-06)^2)+0.105*exp(-((x-57.547801)/2.684e-06)^2)",
              20 * 1.29905e-6 + root * (0.182 * 1.961e-6 + 0.105 * 2.684e-6)},
             {"0.0450845+8.27*exp(-((x-57.568168)/2.118e-06)^2)+0.587*exp(-((x-58.183106)/4.195e-06)^2)",
              20 * 0.0450845 + root * (8.27 * 2.118e-6 + 0.587 * 4.195e-6)},
             {"0.000388887+1.44*exp(-((x-57.064921)/1.785e-06)^2)+0.736*exp(-((x-58.44566)/2.83e-06)^2)",
              20 * 0.000388887 + root * (1.44 * 1.785e-6 + 0.736 * 2.83e-6)},
             {"2.4342e-06+8.86*exp(-((x-57.032235)/4e-07)^2)+2.35*exp(-((x-57.543724)/4.422e-06)^2)",
              20 * 2.4342e-6 + root * (8.86 * 4e-7 + 2.35 * 4.422e-6)},
             {"0.00119428+1.36/(1+((x-58.932603)/4.03e-07)^2)", 20 * 0.00119428 + pi * 1.36 * 4.03e-7}};
  for (const auto& one : all) {
    const Answer answer = in_single(one.text, 50, 70);
    EXPECT_EQ(answer.reason, Reason::roundoff) << one.text << ": " << words(answer);
    EXPECT_NE(answer.why.find("numbers of f32"), std::string::npos) << answer.why;
    EXPECT_LE(std::fabs(answer.value - one.value), answer.error() + 1e-6 * one.value) << one.text;
  }
}

TEST(Unseen, RandomPeaksAreToldWithTheirError) {
  std::mt19937_64 random(3);
  const auto between = [&](double a, double b) {
    return std::uniform_real_distribution<double>(a, b)(random);
  };
  int finite = 0;
  for (int n = 0; n < 24; ++n) {
    double value = 20 * 1e-5;
    std::string text = "1e-5";
    for (int k = 0; k <= n % 4; ++k) {
      const std::string height = fmt::format("{:.4g}", between(0.1, 9)),
                        at = fmt::format("{:.8g}", between(57, 59)),
                        width = fmt::format("{:.4g}", std::pow(10, between(-6.5, -4)));
      text += fmt::format("+{}*exp(-((x-{})/{})^2)", height, at, width);
      value += std::stod(height) * std::stod(width) * std::sqrt(std::numbers::pi);
    }
    const Answer answer = in_single(text, 50, 70);
    finite += std::isfinite(answer.error());
    EXPECT_FALSE(answer.converged()) << text;
    EXPECT_FALSE(std::fabs(answer.value - value) > answer.error() + 1e-6 * value) << text;
  }
  EXPECT_GE(finite, 20) << "errors that say something";
}

TEST(Unseen, WhatNumbersResolveStillConverges) {
  const struct {
    const char* text;
    double from, to, value;
  } all[] = {{"exp(-(x-3)^2)", 0, 6, 1.7724146965},
             {"abs(x-0.3)+(x<0.7)", 0, 1, 0.29 + 0.7},
             {"sqrt(abs(x-0.3))", 0, 1, (std::pow(0.3, 1.5) + std::pow(0.7, 1.5)) * 2 / 3},
             {"1/(1+((x-58.1)/0.5)^2)", 50, 70, 0.5 * (std::atan(11.9 / 0.5) + std::atan(8.1 / 0.5))},
             {"1+0.001*exp(-((x-58.1)/0.01)^2)", 50, 70, 20 + 1e-5 * std::sqrt(std::numbers::pi)}};
  for (const auto& one : all) {
    const Answer answer = in_single(one.text, one.from, one.to);
    EXPECT_TRUE(answer.converged()) << one.text << ": " << words(answer) << " " << answer.error() / one.value;
    EXPECT_LE(std::fabs(answer.value - one.value), answer.error()) << one.text;
  }
}

TEST(Unseen, ShellsTellWhatLiesBesideAPlace) {
  Integrand f;
  const double reach = 7e-6;
  f.in_double = [](std::span<const double> x, std::span<double> y) {
    for (std::size_t i = 0; i < x.size(); ++i) y[i] = 2 + std::exp(-std::pow((x[i] - 58) / 1e-6, 2));
  };
  const Unseen peak = unseen_beside(f, 58, 1, reach);
  EXPECT_TRUE(peak.settles);
  EXPECT_NEAR(peak.limit, 3, 1e-6);
  EXPECT_NEAR(peak.variation, 1, 1e-6);
  const double half = 0.5e-6 * std::sqrt(std::numbers::pi);
  EXPECT_GE(peak.mass, half);
  EXPECT_LE(peak.mass, 2 * half);
  f.in_double = [](std::span<const double> x, std::span<double> y) {
    for (std::size_t i = 0; i < x.size(); ++i) y[i] = 1 / std::sqrt(x[i] - 58);
  };
  EXPECT_FALSE(unseen_beside(f, 58, 1, reach).settles);
}

}  // namespace
}  // namespace tessera::quadrature
