// SPDX-License-Identifier: Apache-2.0
// What must never be claimed: an infinite value, nothing where f has no value, more evaluations than were
// allowed, digits that a formula lost far out; and what must not be blamed although it is harmless.
#include <gtest/gtest.h>
#include <fmt/format.h>
#include <numbers>
#include <random>
#include "ops/integrate/rules/by_name.hpp"
#include "ops/integrate/rules/cubature.hpp"
#include "ops/integrate/rules/formula_integrand.hpp"

namespace tessera::quadrature {
namespace {

Answer integral(const std::string& text, const Range& range, const Tolerance& tolerance = {},
                const Limits& limits = {}) {
  return by_name("auto", integrand_of(formula::parse(text), "x", range), range, tolerance, limits, {});
}

Answer over(const std::string& text, const std::vector<Range>& ranges, const std::string& rule = "auto",
            const Limits& limits = usual_cubature_limits) {
  static const std::vector<std::string> all{"x", "y", "z", "w"};
  const std::vector<std::string> names(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(ranges.size()));
  return by_name(rule, many_values_of(formula::parse(text), names), Box{ranges}, usual_cubature_tolerance,
                 limits, {}, 1, 1);
}

TEST(Claims, NothingConvergesToInfinity) {
  for (const char* text : {"1e308", "1e308*(1+x)", "1e308*exp(x)", "1e307*x"}) {
    const Answer answer = integral(text, {1, 100});
    EXPECT_FALSE(answer.converged()) << text;
    EXPECT_EQ(answer.truncation, infinity) << text;
  }
  for (const char* rule : {"auto", "genz_malik", "quasi_random", "tanh_sinh", "vegas"}) {
    const Answer answer = over("1e300+x", {{0, 1e5}, {0, 1e5}}, rule);
    EXPECT_EQ(answer.reason, Reason::too_large) << rule << ": " << words(answer);
    EXPECT_EQ(answer.truncation, infinity) << rule;
  }
  EXPECT_FALSE(over("1e-200*x", {{0, 1e200}, {0, 1e200}}).converged());
}

// However small the coefficient of what grows like the inverse distance: no integral has it.
// However slowly they fall.
TEST(Claims, SwingsThatCancelDoNotDiverge) {
  const double root = std::sqrt(2 * std::atan(1.0));
  for (const double w : {0.5, 1.0, 2.0, 3.0}) {
    const std::string text = fmt::format("sin({}*x)/sqrt(x)", w);
    const Answer answer = integral(text, {0, infinity});
    EXPECT_NE(answer.reason, Reason::diverges) << text;
    EXPECT_NEAR(answer.value, root / std::sqrt(w), 1e-9) << text;
  }
  EXPECT_NEAR(integral("j0(x)", {0, infinity}).value, 1, 1e-9);
  for (const char* text : {"cos(x)/(1+x)^0.7", "sin(x)/x^0.2", "sin(x)/log(x+2)"})
    EXPECT_NE(integral(text, {0, infinity}).reason, Reason::diverges) << text;
  EXPECT_FALSE(integral("(2+sin(x))/(1+x)", {0, infinity}).converged());
}

TEST(Claims, DivergenceWithASmallCoefficientIsNotOverlooked) {
  std::mt19937_64 random(4);
  const auto between = [&](double a, double b) {
    return std::uniform_real_distribution<double>(a, b)(random);
  };
  for (int n = 0; n < 8; ++n) {
    const double c = std::pow(10, between(-60, -20)), to = between(0.5, 3);
    const std::string at_zero[] = {fmt::format("1+{:.3g}/x", c), fmt::format("cos(x)-{:.3g}/sinh(x)", c),
                                   fmt::format("1+{:.3g}*abs(x)^(-{:.3g})", c, between(1, 1.9))};
    for (const std::string& text : at_zero) {
      EXPECT_EQ(integral(text, {0, to}).reason, Reason::diverges) << text;
      EXPECT_EQ(integral(text, {-to, 0}).reason, Reason::diverges) << text;
    }
    const std::string tail = fmt::format("exp(-x)+{:.3g}/(1+x)", c);
    EXPECT_EQ(integral(tail, {0, infinity}).reason, Reason::diverges) << tail;
    const double power = between(0.1, 0.99);
    const std::string finite = fmt::format("1+{:.3g}*x^(-{:.3g})", c, power);
    const Answer answer = integral(finite, {0, to});
    EXPECT_TRUE(answer.converged()) << finite << ": " << words(answer);
    EXPECT_NEAR(answer.value, to, 1e-9) << finite;
  }
}

TEST(Claims, LargeHeightsWithAnIntegralHaveIt) {
  const Answer one = integral("1e307*cos(x)", {0, 1});
  EXPECT_TRUE(one.converged()) << words(one);
  EXPECT_NEAR(one.value, 1e307 * std::sin(1.0), 1e297);
  for (const char* rule : {"gauss_kronrod", "tanh_sinh", "simpson", "richardson"}) {
    const Answer named = by_name(rule, integrand_of(formula::parse("1.7e308*cos(x)"), "x", {0, 1}), {0, 1},
                                 {.relative = 1e-8}, {}, {});
    EXPECT_TRUE(named.converged()) << rule << ": " << words(named);
    EXPECT_NEAR(named.value, 1.7e308 * std::sin(1.0), 1e299) << rule;
    // ∫ = 2·(1 - 1e-3)·1.7e308
    EXPECT_EQ(
        by_name(rule, integrand_of(formula::parse("1.7e308*(1-x*1e-3)"), "x", {0, 2}), {0, 2}, {}, {}, {})
            .reason,
        Reason::too_large)
        << rule;
  }
  for (const char* text : {"1e308", "8e307*(x+y)", "1e308*cos(x)*1"}) {
    const Answer answer = over(text, {{0, 1}, {0, 1}, {0, 1}, {0, 1}});
    const double right = text[0] == '8' ? 8e307 : text[5] == 0 ? 1e308 : 1e308 * std::sin(1.0);
    EXPECT_TRUE(answer.converged()) << text << ": " << words(answer);
    EXPECT_NEAR(answer.value, right, 1e303) << text;
  }
}

TEST(Claims, NoWidthTakesAFiniteHeight) {
  const Range whole{0, 1}, none{0, 0}, below{-1, -1}, far{infinity, infinity};
  for (const char* rule : {"auto", "genz_malik", "quasi_random", "tanh_sinh", "vegas"}) {
    EXPECT_EQ(over("1/y", {whole, none}, rule).reason, Reason::non_finite) << rule;
    EXPECT_EQ(over("x/y", {whole, none}, rule).reason, Reason::non_finite) << rule;
    EXPECT_EQ(over("log(y)*x", {whole, below}, rule).reason, Reason::non_finite) << rule;
    EXPECT_EQ(over("x*y", {whole, far}, rule).reason, Reason::non_finite) << rule;
    const Answer answer = over("x*y+1/sqrt(x)", {whole, none}, rule);
    EXPECT_TRUE(answer.converged()) << rule;
    EXPECT_EQ(answer.value, 0) << rule;
  }
}

TEST(Claims, CapsAreKeptAndNamed) {
  for (const std::int64_t most : {10, 100, 1000, 5000, 30'000})
    for (const char* rule : {"auto", "genz_malik", "quasi_random", "vegas"})
      for (const char* text : {"sin(40*x*y)", "x*y>0.3"}) {
        const Answer answer = over(text, {{0, 1}, {0, 1}}, rule, {.evaluations = most, .seconds = 60});
        EXPECT_LE(answer.evaluations, most) << rule << " " << text;
        EXPECT_TRUE(answer.converged() || answer.reason == Reason::evaluations)
            << rule << " " << most << " " << text << ": " << words(answer);
      }
  for (const char* rule : {"epsilon", "oscillating"}) {
    const Range range{0, infinity};
    const Answer answer = by_name(rule, integrand_of(formula::parse("sin(x)/x"), "x", range), range, {},
                                  {.evaluations = 10}, {});
    EXPECT_EQ(answer.reason, Reason::evaluations) << rule;
    EXPECT_LE(answer.evaluations, 10) << rule;
  }
  const Answer late = over("x*y>0.3", {{0, 1}, {0, 1}}, "auto", {.evaluations = 1 << 30, .seconds = 0.02});
  EXPECT_EQ(late.reason, Reason::time) << words(late);
}

TEST(Claims, WhatAFormulaLosesFarOutIsTold) {
  const double all = 2 * std::numbers::pi;
  for (const double relative : {2e-9, 5e-9, 1e-8, 1e-6, 1e-4}) {
    const Answer far = integral("log(1+1/x^2)", {0, infinity}, {.relative = relative});
    EXPECT_LE(std::fabs(far.value - all / 2), far.error()) << relative;
    const Answer near = integral("log(1+x)/x^1.5", {0, infinity}, {.relative = relative});
    EXPECT_LE(std::fabs(near.value - all), near.error()) << relative;
  }
}

TEST(Claims, OverflowsOnTheWayToZeroAreHarmless) {
  const double pi = std::numbers::pi;
  const struct {
    const char* text;
    Range range;
    double value;
  } all[] = {{"1/cosh(x)", {-infinity, infinity}, pi},
             {"x^3/(exp(x)-1)", {0, infinity}, pi * pi * pi * pi / 15},
             {"1/(1+exp(x))", {0, infinity}, std::numbers::ln2},
             {"1/cosh(x)^2", {-infinity, infinity}, 2}};
  for (const auto& one : all) {
    const Answer answer = integral(one.text, one.range);
    EXPECT_TRUE(answer.converged()) << one.text << ": " << words(answer) << " " << answer.error();
    EXPECT_NEAR(answer.value, one.value, answer.error()) << one.text;
  }
}

TEST(Claims, RangesOfManyScales) {
  const double root = std::sqrt(std::numbers::pi);
  const struct {
    const char* text;
    Range range;
    double value;
  } all[] = {{"exp(-(x-1e3)^2)", {0, 1e150}, root},
             {"exp(-(x-20)^2)", {0, 1e300}, root},
             {"1/cosh(x-1e3)", {0, 1e150}, std::numbers::pi},
             {"exp(-abs(x-50))", {0, 1e200}, 2},
             {"exp(-(x-1e6)^2)", {0, 1e51}, root},
             {"exp(-(x-3)^2)", {0, 1e30}, 1.7724343327},
             {"1/x", {1e-300, 1}, 300 * std::numbers::ln10},
             {"1/(1+(x-5)^4)", {0, 1e200}, 2.21879}};
  for (const auto& one : all) {
    const Answer answer = integral(one.text, one.range);
    EXPECT_NE(answer.reason, Reason::diverges) << one.text;
    EXPECT_TRUE(!answer.converged() || std::fabs(answer.value - one.value) <= 1e-5 * one.value)
        << one.text << ": " << answer.value;
  }
  for (const char* text : {"1/x-floor(1/x)", "1/abs(x-0.123456789)^0.999999"})
    EXPECT_NE(integral(text, {0, 1}).reason, Reason::diverges) << text;
  EXPECT_TRUE(integral("1/abs(x-0.123456789)", {0, 1}).without_limit());
}

// Computed in f32, and told so.
TEST(Claims, SingleIsSingle) {
  const Range range{0, 1, 0x1p-24};
  const auto single = [&](const char* text, double relative) {
    return by_name("auto", integrand_of(formula::parse(text), "x", range), range, {.relative = relative}, {},
                   {});
  };
  const Answer lost = single("sin(x+1e8)", 1e-5);
  EXPECT_FALSE(lost.converged());
  EXPECT_GE(lost.error(), std::fabs(lost.value - (std::cos(1e8) - std::cos(1e8 + 1))));
  const struct {
    const char* text;
    double value;
  } all[] = {{"sqrt(1-x^2)", std::numbers::pi / 4},
             {"exp(x)", std::numbers::e - 1},
             {"x/3", 1.0 / 6},
             {"1/3", 1.0 / 3},
             {"abs(x-0.3)", 0.29},
             {"1/sqrt(x)", 2},
             {"1/sqrt(1-x)", 2},
             {"x<0.3", 0.3}};
  for (const auto& one : all) {
    const Answer answer = single(one.text, 1e-5);
    EXPECT_LE(std::fabs(answer.value - one.value), answer.error()) << one.text;
    EXPECT_GT(answer.error(), 1e-9) << one.text;
    EXPECT_TRUE(answer.converged()) << one.text << ": " << words(answer) << " " << answer.error();
  }
  // Where f32 has no numbers any more.
  const Range far{0, infinity, 0x1p-24};
  const Answer swings =
      by_name("auto", integrand_of(formula::parse("sin(x)/x"), "x", far), far, {.relative = 1e-5}, {}, {});
  EXPECT_NE(swings.reason, Reason::non_finite);
  EXPECT_TRUE(!swings.converged() || std::fabs(swings.value - std::numbers::pi / 2) <= 2e-5);
}

}  // namespace
}  // namespace tessera::quadrature
