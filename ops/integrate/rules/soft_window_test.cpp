// SPDX-License-Identifier: Apache-2.0
// Tails that swing about a mean which falls slowly: their integrals are found, and those that have none, or
// whose mean falls too slowly to tell, are not given one.
#include <gtest/gtest.h>
#include <numbers>
#include "ops/integrate/rules/by_name.hpp"
#include "ops/integrate/rules/formula_integrand.hpp"
#include "ops/integrate/rules/soft_window.hpp"

namespace tessera::quadrature {
namespace {

constexpr double pi = std::numbers::pi;

Answer integral(const std::string& text, const Range& range, const Limits& limits = {}) {
  return by_name("auto", integrand_of(formula::parse(text), "x", range), range, {}, limits, {});
}

TEST(SoftWindow, MeansThatFallLikePowersAreIntegrated) {
  const struct {
    const char* text;
    Range range;
    double value;
  } all[] = {{"(sin(x)/x)^2", {0, infinity}, pi / 2},
             {"(sin(x)/x)^2", {-infinity, infinity}, pi},
             {"(1-cos(x))/x^2", {0, infinity}, pi / 2},
             {"(sin(x)/x)^4", {0, infinity}, pi / 3},
             {"(sin(x)/x)^3", {0, infinity}, 3 * pi / 8},
             {"sin(x)^2/(1+x^2)", {0, infinity}, pi / 4 * -std::expm1(-2.0)},
             {"sin(3*x)^2/(1+x^2)", {-infinity, 0}, pi / 4 * -std::expm1(-6.0)},
             {"(1-cos(5*x))/x^1.5", {0, infinity}, std::sqrt(2 * pi * 5)},
             {"sin(x)^2/x^1.5", {0, infinity}, std::sqrt(pi)}};
  for (const auto& one : all) {
    const Answer answer = integral(one.text, one.range);
    const double off = std::fabs(answer.value - one.value);
    EXPECT_TRUE(answer.converged()) << one.text << ": " << words(answer) << " " << answer.why;
    EXPECT_LE(off, answer.error() + 4 * unit * one.value) << one.text;
    EXPECT_LE(off, 1e-10 * one.value) << one.text;
  }
}

// Two frequencies that share no period: their zeros follow no series.
TEST(SoftWindow, SwingsNeedNoPeriod) {
  // ∫ sin(ax)/(1+x) = Ci(a) sin(a) + (π/2 - Si(a)) cos(a)
  const Answer answer = integral("(sin(x)+sin(sqrt(2)*x))/(1+x)", {0, infinity});
  EXPECT_TRUE(answer.converged()) << words(answer);
  EXPECT_NEAR(answer.value, 1.12693104832558, 1e-10);
  EXPECT_LE(std::fabs(answer.value - 1.12693104832558), answer.error());
}

TEST(SoftWindow, NoIntegralIsGivenToWhatHasNone) {
  for (const char* text : {"sin(x)^2/(1+x)", "sin(x)^2/((x+2)*log(x+2))", "cos(x)^2", "sin(x)",
                           "sin(x)*(1+1/log(x+3))", "sin(x)^2/sqrt(1+x)", "sin(x)+sin(sqrt(2)*x)"}) {
    const Answer answer = integral(text, {0, infinity});
    EXPECT_FALSE(answer.converged()) << text << ": " << answer.value;
  }
  const Integrand f = plain([](double x) { return std::sin(x) * std::sin(x) / (1 + x); });
  Sampler sampler(f, {0, infinity}, {});
  const double swing = swing_length(sampler, 0, 1);
  EXPECT_NEAR(swing, pi / 2, 0.2);
  EXPECT_FALSE(
      behind_soft_windows(sampler, 4 * swing, 1, 100 * swing, swing, {.relative = 1e-3}).converged());
}

// Falls as a power of the logarithm: windows of any width leave too much.
TEST(SoftWindow, SlowMeansAreNotClaimed) {
  for (const char* text : {"sin(x)^2/((x+2)*log(x+2)^2)", "sin(x)^2/((x+2)*log(x+2)^3)"}) {
    const Answer answer = integral(text, {0, infinity});
    EXPECT_FALSE(answer.converged()) << text;
  }
}

TEST(SoftWindow, ItsCapIsNamed) {
  const Answer answer = integral("(sin(x)/x)^2", {0, infinity}, {.evaluations = 100'000});
  EXPECT_FALSE(answer.converged());
  EXPECT_EQ(answer.reason, Reason::evaluations) << words(answer);
  EXPECT_LE(answer.evaluations, 100'000);
  EXPECT_LE(std::fabs(answer.value - pi / 2), answer.error());
}

}  // namespace
}  // namespace tessera::quadrature
