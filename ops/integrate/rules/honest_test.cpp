// SPDX-License-Identifier: Apache-2.0
// Answers that must not claim more than their digits, nor blame what is not there.
#include <gtest/gtest.h>
#include "ops/integrate/rules/auto.hpp"
#include "ops/integrate/rules/by_name.hpp"
#include "ops/integrate/rules/formula_integrand.hpp"
#include "tessera/core/error.hpp"

namespace tessera::quadrature {
namespace {

Answer integral(const std::string& text, const Range& range, const Tolerance& tolerance = {},
                const Limits& limits = {}) {
  return automatic(integrand_of(formula::parse(text), "x", range), range, tolerance, limits);
}

struct Exact {
  const char* text;
  Range range;
  double value;
  double relative = 1e-10;
};

// Rounding inside the formula: either it is avoided, or it is told.
TEST(Honest, CancellationInTheFormulaIsCounted) {
  const std::vector<Exact> all = {{"(1-cos(x))/x^2", {0, 1}, 0.48638537623532274},
                                  {"(x-sin(x))/x^3", {0, 1}, 0.16392818052160962},
                                  {"(tan(x)-x)/x^3", {0, 1}, 0.39318046392737},
                                  {"(sqrt(1+x^2)-1)/x^2", {0, 1}, 0.46716002464644},
                                  {"(exp(x^2)-1)/x^2", {0, 1}, 1.2070216633553},
                                  {"log(1+x^2)/x^2", {0, 1}, 0.87764914623495},
                                  {"(cosh(x)-1)/x^2", {0, 1}, 0.51417024056048},
                                  {"log(1+x)/x", {0, 1e-14}, 1e-14},
                                  {"(exp(x)-1)/x", {0, 1e-14}, 1e-14},
                                  {"sqrt(1+x)-1", {0, 1e-14}, 2.5e-29},
                                  {"(1-cos(x))/x^2", {0, 1e-7}, 5e-8, 1e-2},
                                  {"(1-cos(x))/x^2", {-1, 0}, 0.48638537623532274},
                                  {"1-cos(x)", {0, 1e-9}, 1e-27 / 6},
                                  {"(exp(-x)-exp(-2*x))/x", {0, infinity}, 0.69314718055994531}};
  int right = 0;
  for (const Exact& exact : all) {
    const Answer answer = integral(exact.text, exact.range, {.relative = exact.relative});
    const double off = std::fabs(answer.value - exact.value);
    EXPECT_LE(off, answer.error() + 2e-14 * exact.value) << exact.text;
    EXPECT_TRUE(!answer.converged() || off <= exact.relative * exact.value) << exact.text;
    EXPECT_TRUE(answer.converged() || answer.reason == Reason::roundoff)
        << exact.text << ": " << words(answer);
    right += answer.converged();
  }
  EXPECT_GE(right, 12) << "distance forms at 0";
  const Answer far = integral("sin(x+1e15)", {0, 2});
  EXPECT_EQ(far.reason, Reason::roundoff);
  EXPECT_GE(far.error(), 1.3e-3);
  for (const char* rule : {"gauss_kronrod", "tanh_sinh", "richardson", "simpson"}) {
    const Answer named = by_name(rule, integrand_of(formula::parse("sin(x+1e15)"), "x", {0, 2}), {0, 2}, {},
                                 {.evaluations = 100'000}, {});
    EXPECT_FALSE(named.converged()) << rule;
    EXPECT_GE(named.error(), 1.3e-3) << rule;
  }
}

TEST(Honest, WhatKeepsItsDigitsIsChargedLittle) {
  for (const char* text : {"sqrt(1-x^2)", "exp(x)", "x-1/3", "1/(1+x^2)", "cos(3*x)*exp(-x)"}) {
    const Answer answer = integral(text, {0, 1}, {.relative = 1e-13});
    EXPECT_TRUE(answer.converged()) << text << ": " << words(answer);
    EXPECT_LT(answer.rounding, 1e-14) << text;
  }
}

TEST(Honest, InfiniteTolerancesAreRefused) {
  EXPECT_THROW(integral("1/x", {0, 1}, {.relative = infinity}), Error);
  EXPECT_THROW(integral("1/x", {0, 1}, {.relative = 0, .absolute = infinity}), Error);
}

TEST(Honest, ACapIsOnlyCalledSoWhereItWasReached) {
  const Answer steps = integral("floor(1000*x)/1000", {0, 1}, {}, {.evaluations = 100'000'000});
  EXPECT_TRUE(steps.converged()) << words(steps);
  EXPECT_NEAR(steps.value, 0.4995, 1e-10);
  const Answer hard = integral("floor(1000*x)/1000", {0, 1});
  EXPECT_TRUE(hard.reason != Reason::evaluations || hard.evaluations > 3'900'000) << hard.evaluations;
}

TEST(Honest, FewNumbersBetweenTheLimits) {
  const Answer two = integral("x", {1e16, 1e16 + 2});
  EXPECT_TRUE(two.converged()) << words(two);
  EXPECT_EQ(two.value, 2e16 + 2);
  for (const double length : {0x1p-52, 0x1p-48}) {
    const Answer answer = integral("x", {1, 1 + length});
    EXPECT_TRUE(answer.converged()) << words(answer);
    EXPECT_NEAR(answer.value, length * (1 + length / 2), 1e-15 * length);
  }
  EXPECT_EQ(integral("1/sin(x-x)", {1, 1 + 0x1p-52}).reason, Reason::non_finite);
}

TEST(Honest, EqualLimitsGiveNothingTimesTheHeight) {
  EXPECT_EQ(integral("x", {2, 2}).value, 0);
  EXPECT_TRUE(integral("x", {2, 2}).converged());
  EXPECT_EQ(integral("1/x", {0, 0}).reason, Reason::non_finite);
  EXPECT_TRUE(std::isnan(integral("1/x", {0, 0}).value));
  EXPECT_EQ(integral("x", {infinity, infinity}).reason, Reason::non_finite);
}

TEST(Honest, FiniteIntegralsDoNotDiverge) {
  const std::vector<Exact> solved = {{"fmod(x,0.1)", {0, 1}, 0.05},
                                     {"fmod(3*x,1)", {0, 2}, 1},
                                     {"1/(exp(x)-1)-1/x", {0, 1}, -0.45867514538708},
                                     {"sin(x)*exp(-x/1e6)", {0, infinity}, 1}};
  for (const Exact& exact : solved) {
    const Answer answer = integral(exact.text, exact.range);
    EXPECT_TRUE(answer.converged()) << exact.text << ": " << words(answer);
    EXPECT_NEAR(answer.value, exact.value, 1e-10) << exact.text;
  }
  for (const auto& [text, range] : {std::pair{"sin(x)/log(x)^0.1", Range{2, infinity}},
                                    {"sin(x)/x+1/x^2*(x>1e4)", {0, infinity}},
                                    {"x^-0.9999", {0, 1}},
                                    {"x^-1.0001", {1, infinity}}})
    EXPECT_NE(integral(text, range).reason, Reason::diverges) << text;
  // Whose swings fall to a size that stays looks the same.
  EXPECT_FALSE(integral("sin(x)*(1+1/log(x))", {2, infinity}).converged());
  EXPECT_EQ(integral("sin(x)", {0, infinity}).reason, Reason::diverges);
  EXPECT_EQ(integral("1/x", {0, 1}).reason, Reason::diverges);
}

TEST(Honest, SmoothEndsAndJumpsAreNoSingularities) {
  const std::vector<Exact> all = {{"exp(-(x-1e6)^2)", {-infinity, infinity}, 1.7724538509055160},
                                  {"x>0.3 and x<0.3000001", {0, 1}, 1e-7},
                                  {"x^1000000", {0, 1}, 1 / 1000001.0}};
  for (const Exact& exact : all) {
    const Answer answer = integral(exact.text, exact.range);
    EXPECT_NE(answer.reason, Reason::singular) << exact.text;
    EXPECT_LE(std::fabs(answer.value - exact.value), answer.error()) << exact.text;
    EXPECT_LT(answer.error(), 4e-9 * exact.value) << exact.text;
  }
}

TEST(Honest, BreaksAreNumbers) {
  const double breaks[] = {nothing};
  const Integrand f = plain([](double x) { return x; });
  EXPECT_THROW(automatic(f, {0, 1}, {}, {}, breaks), Error);
  EXPECT_THROW(by_name("tanh_sinh", f, {0, 1}, {}, {}, breaks), Error);
}

}  // namespace
}  // namespace tessera::quadrature
