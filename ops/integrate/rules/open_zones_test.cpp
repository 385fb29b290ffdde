// SPDX-License-Identifier: Apache-2.0
// Jumps that a formula's own rounding moves: the error must hold that, and must not hold much more.
#include "ops/integrate/rules/auto.hpp"
#include "ops/integrate/rules/open_zones.hpp"
#include <gtest/gtest.h>
#include <cmath>
#include "ops/integrate/rules/by_name.hpp"
#include "ops/integrate/rules/equidistant.hpp"
#include "ops/integrate/rules/formula_integrand.hpp"

namespace tessera::quadrature {
namespace {

Answer integral(const std::string& text, const Range& range, const char* rule = "auto",
                double relative = 1e-10) {
  return by_name(rule, integrand_of(formula::parse(text), "x", range), range, {.relative = relative}, {}, {});
}

struct Moved {
  const char* text;
  double exact;  // of the numbers that the text stands for, once rounded
};

// The widths in 40 digits: the threshold 1.000000000001 is 1 + 1.0000889005823410e-12 in f64.
TEST(OpenZones, AJumpIsNoBetterKnownThanTheFormulaKnowsIt) {
  const std::vector<Moved> all = {{"1+1e5*((x-0.5)^2+1<1.000000000001)", 1.2000088899},
                                  {"1+1e5*(sqrt(1+(x-0.5)^2)<1.000000000001)", 1.2828552846},
                                  {"1+1e5*(x*x-x+0.25<1e-12)", 1.2},
                                  {"1+1e4*(cos(x-0.5)>0.999999999999)", 1.0282839584},
                                  {"1+1e4*(exp(-(x-0.5)^2)>0.999999999999)", 1.0199997788},
                                  {"1+1e3*(sin(30*x)>0.9999999999)", 1.0047140454}};
  for (const Moved& one : all)
    for (const char* rule : {"auto", "tanh_sinh", "gauss_kronrod"}) {
      const Answer answer = integral(one.text, {0, 1}, rule);
      const double off = std::fabs(answer.value - one.exact);
      EXPECT_TRUE(off <= answer.error() + 1e-10)
          << one.text << " by " << rule << ": " << answer.value << " +- " << answer.error();
      EXPECT_FALSE(answer.converged() && off > 2e-10 * one.exact)
          << one.text << " by " << rule << ": " << words(answer);
      EXPECT_LT(answer.error(), 1e-3) << one.text << " by " << rule;
    }
}

TEST(OpenZones, WhatIsKnownToTheLastDigitCostsNothing) {
  for (const auto& [text, exact] :
       {std::pair{"x>=0.3", 0.7}, std::pair{"1+1e5*(abs(x-0.5)<1e-6)", 1.2}, std::pair{"floor(5*x)", 2.},
        std::pair{"x*x<0.09?sqrt(0.09-x*x):0", 0.070685834705770348}, std::pair{"x*x<0.09 && x>0.1", 0.2},
        std::pair{"fmod(x,0.25)", 0.125}, std::pair{"abs(x-0.3)", 0.29}}) {
    const Answer answer = integral(text, {0, 1});
    EXPECT_TRUE(answer.converged()) << text << ": " << words(answer) << ", " << answer.error();
    EXPECT_TRUE(std::fabs(answer.value - exact) <= answer.error() + 1e-15) << text;
  }
}

TEST(OpenZones, TheZoneIsTheWidthTimesTheJump) {
  // Rounded off is up to 1.1e-16 of the left side, which grows by 2e-6 for each unit of x there: 5.5e-11 on
  // both sides.
  const Range range{0, 1};
  const Integrand f = integrand_of(formula::parse("1e5*((x-0.5)^2+1<1.000000000001)"), "x", range);
  const std::vector<Piece> pieces = cut(range, std::vector<double>{0.5 - 1.00004445e-6, 0.5 + 1.00004445e-6});
  const double lost = open_beside_cuts(f, range, pieces);
  EXPECT_GT(lost, 1e5 * 1.1e-10);
  EXPECT_LT(lost, 8 * 1e5 * 1.1e-10);
  EXPECT_EQ(open_beside_cuts(integrand_of(formula::parse("1/(x-0.5)"), "x", range), range, pieces), 0)
      << "nothing jumps";
}

TEST(OpenZones, SeveralVariables) {
  const std::vector<std::string> names{"x", "y"};
  const auto lost = [&](const std::string& text) {
    const Box box{{{1, 0}, {0, 1}}};
    const formula::Tree tree = formula::parse(text);
    return open_beside_breaks(many_values_of(tree, names), many_open_of(tree, names), box,
                              features_of(tree, names, box));
  };
  const double moved = lost("(1+1e5*((x-0.5)^2+1<1.000000000001))*(1+y)");
  EXPECT_GT(moved, 1.5 * 1e5 * 1.1e-10) << "the mean of 1 + y is 1.5";
  EXPECT_LT(moved, 8 * 1.5 * 1e5 * 1.1e-10);
  EXPECT_LT(lost("(x<0.3)*(1+y)"), 1e-15);
  EXPECT_EQ(lost("x*y"), 0);
}

TEST(OpenZones, ConstantsWithoutAValueTellAPlace) {
  for (const char* text : {"0/0", "1/0", "-1/0", "sqrt(-1)"}) {
    const Answer answer = integral(text, {0, 1});
    EXPECT_EQ(answer.reason, Reason::non_finite) << text;
    EXPECT_EQ(answer.where, 0) << text;
    EXPECT_TRUE(std::isinf(answer.error())) << text << ": " << answer.error();
    EXPECT_EQ(answer.rounding, 0) << text;
  }
  EXPECT_EQ(integral("1e308", {0, 10}).reason, Reason::too_large);
  EXPECT_EQ(integral("1", {0, infinity}).reason, Reason::diverges);
}

TEST(OpenZones, FewSamplesTellWhatLeavingOneOutChanges) {
  const std::vector<double> x{0, 1, 2, 3}, y{0, 1, 4, 9};
  const auto of = [&](std::size_t n, auto rule) {
    return rule(std::span(x).first(n), std::span(y).first(n));
  };
  EXPECT_TRUE(std::isinf(of(2, trapezoid_of).error()));
  EXPECT_TRUE(std::isinf(of(2, simpson_of).error()));
  EXPECT_EQ(of(3, trapezoid_of).truncation, 1);
  EXPECT_NEAR(of(3, simpson_of).truncation, 4 - 8 / 3., 1e-15);
  EXPECT_EQ(of(4, trapezoid_of).truncation, 1);
  EXPECT_NEAR(of(4, simpson_of).truncation, 0, 1e-14) << "parabolas through a parabola";
  for (const double tiny : {1e-320, 1e-310}) {
    const Answer answer = simpson_of(std::vector<double>{0, tiny, 1, 2}, y);
    EXPECT_EQ(answer.reason, Reason::too_large) << tiny << ": " << words(answer);
    EXPECT_TRUE(std::isinf(answer.error())) << tiny;
    EXPECT_TRUE(trapezoid_of(std::vector<double>{0, tiny, 1, 2}, y).error() < 10);
  }
}

// x/3 of the smallest numbers is 0, so floor jumps beside 0 and once more at it: a piece of one number's
// length.
TEST(OpenZones, APieceOfTheSmallestNumberEnds) {
  for (const char* text : {"floor(x/3)", "ceil(0.25*x)", "floor(x*0.3)+x"}) {
    const Answer answer =
        automatic(integrand_of(formula::parse(text), "x", {-3, 7}), {-3, 7}, {}, {.seconds = 5});
    EXPECT_TRUE(answer.converged()) << text << ": " << words(answer);
  }
}

}  // namespace
}  // namespace tessera::quadrature
