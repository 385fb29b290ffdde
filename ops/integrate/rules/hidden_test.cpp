// SPDX-License-Identifier: Apache-2.0
// Narrow peaks that no probe meets, but that the formula's text shows.
#include <gtest/gtest.h>
#include <cmath>
#include <fmt/format.h>
#include <numbers>
#include "ops/integrate/rules/auto.hpp"
#include "ops/integrate/rules/by_name.hpp"
#include "ops/integrate/rules/cubature.hpp"
#include "ops/integrate/rules/formula_integrand.hpp"
#include "ops/integrate/rules/hidden_regions.hpp"

namespace tessera::quadrature {
namespace {

const double root_pi = std::sqrt(std::numbers::pi);

Answer integral(const char* text, const Range& range) {
  return automatic(integrand_of(formula::parse(text), "x", range), range);
}

void expect_near(const Answer& answer, double exact, double relative, const char* text) {
  EXPECT_TRUE(answer.converged()) << text << ": " << words(answer);
  EXPECT_NEAR(answer.value, exact, relative * exact) << text;
  EXPECT_LE(std::fabs(answer.value - exact), answer.error() + relative * exact) << text;
}

// Needles of a width far below the probes' distances, by the leading terms of their series.
TEST(Hidden, InFunctionsAndProducts) {
  const auto comb = [](double steepness,
                       int peaks) {  // the integral of exp(-a·sin²) over as many of its peaks
    return peaks * root_pi / std::sqrt(steepness) * (1 + 1 / (4 * steepness));
  };
  expect_near(integral("exp(-1e6*sin(x)^2)", {0, 100}), comb(1e6, 31) + comb(1e6, 1) / 2, 1e-9, "sine");
  expect_near(integral("exp(-1e5*cos(x)^2)", {0, 100}), comb(1e5, 32), 1e-8, "cosine");
  expect_near(integral("1-exp(-1e6*sin(x)^2)", {0, 100}), 100 - comb(1e6, 31) - comb(1e6, 1) / 2, 1e-9,
              "dips");
  expect_near(integral("1+1e3*exp(-1e14*log(x)^2)", {0.1, 3}), 2.9 + 1e-4 * root_pi, 1e-9, "logarithm");
  const double slope = 0.5191474972894669;  // of J0 at its first zero
  expect_near(integral("1+1e3*exp(-(1e7*j0(x))^2)", {0, 3}), 3 + 1e-4 * root_pi / slope, 1e-9, "bessel");
}

TEST(Hidden, WhereSomethingTurns) {
  const double sine = std::sqrt(2 / 1e12) * root_pi / std::numbers::pi;
  expect_near(integral("1+sin(pi*x)^1e12", {0, 1}), 1 + sine, 1e-10, "sine");
  const double product = std::sqrt(0.50737129 / 1e10) * root_pi;
  expect_near(integral("1+(x*(1.4246-x)/0.50737129)^1e10", {0, 1.4}), 1.4 + product, 1e-9, "product");
  const double sum = 15 * std::sqrt(2 / 1e6) * root_pi + std::sqrt(2 / 1e6) * root_pi / 2;
  expect_near(integral("exp(-1e6*(1-cos(x)))", {0, 100}), sum, 1e-6, "many turns of a sum");
}

TEST(Hidden, NothingIsClaimedOfMoreThanCanBeLookedAt) {
  EXPECT_FALSE(integral("exp(-1e6*sin(1e4*x)^2)", {0, 1}).converged());
  EXPECT_FALSE(integral("exp(-1e6*sin(x)^2)", {0, 1000}).converged());
  // Peaks that no rule can miss are no needles.
  EXPECT_TRUE(integral("exp(-100*sin(1e3*x)^2)", {0, 1}).converged());
}

// What begins at each jump and is over at once: few are cut out, of many nothing is claimed.
TEST(Hidden, TeethBesideJumps) {
  for (const char* shape : {"{0}<{1}", "max(0,1-{0}/{1})", "exp(-{0}/{1})", "{0}>{2}-{1}"})
    for (const double period : {0.0625, 0.05, 0.01, 0.0017})
      for (const double width : {1e-6, 3e-8}) {
        const std::string rest = fmt::format("fmod(x,{})", period),
                          text = fmt::format(fmt::runtime(shape), rest, width, period);
        const double area = shape[0] == 'm' ? 0.5 : 1, exact = area * width * std::round(1 / period);
        const Answer answer = integral(text.c_str(), {0, 1});
        // 0.05 is rounded, and a jump with it: twenty times over.
        EXPECT_FALSE(answer.converged() && !(std::fabs(answer.value - exact) <= 1e-7 * exact))
            << text << ": " << answer.value << " for " << exact;
        if (period < 0.02) continue;
        EXPECT_NEAR(answer.value, exact, 2e-2 * exact) << text << ": " << words(answer);
      }
  EXPECT_TRUE(integral("floor(10*x)", {0, 1}).converged());
  EXPECT_TRUE(integral("fmod(x,0.125)<0.03125", {0, 1}).converged());
}

// A sum of large numbers is rounded before its whole part is taken.
TEST(Hidden, RoundingBeforeWholeParts) {
  for (const char* text :
       {"floor(x+1e16)-1e16", "trunc(x+3e16)-3e16", "round(x+9007199254740993)-9007199254740992"}) {
    const Answer answer = integral(text, {0, 10});
    EXPECT_FALSE(answer.converged()) << text << ": " << answer.value;
    EXPECT_GE(answer.error(), 4) << text;
  }
}

Answer over(const char* text, const std::vector<std::string>& variables, const Range& range = {0, 1}) {
  const formula::Tree tree = formula::parse(text);
  Box box{std::vector<Range>(variables.size(), range)};
  box.features = features_of(tree, variables, box);
  return automatic_cubature(many_values_of(tree, variables), box);
}

TEST(Hidden, InCornersOfSeveralVariables) {
  expect_near(over("1+(x>0.9999 and y>0.9999 ? 1e7 : 0)", {"x", "y"}), 1.1, 1e-6, "a corner");
  expect_near(
      over("1+(abs(x-0.3)<1e-3 and abs(y-0.612)<1e-3 and abs(z-0.77)<1e-3 ? 1e8 : 0)", {"x", "y", "z"}), 1.8,
      1e-6, "a small cube");
}

TEST(Hidden, NeedlesOfSeveralVariables) {
  const double needle = std::pow(root_pi / 1e2, 3) * 1e3;
  expect_near(over("1+1e3*exp(-1e4*((x-0.312345)^2+(y-0.71234)^2+(z-0.1234)^2))", {"x", "y", "z"}),
              1 + needle, 1e-6, "one needle");
  expect_near(over("exp(-1e6*((x-3)^2+(y-4)^2))+exp(-1e6*((x-5)^2+(y-6)^2))", {"x", "y"}, {0, infinity}),
              2 * std::numbers::pi / 1e6, 1e-6, "two needles");
}

TEST(Hidden, RegionsBeginAtTheFormulasBreaks) {
  expect_near(over("abs(x-0.3)*abs(y-0.7)", {"x", "y"}), 0.0841, 1e-6, "kinks");
  const Answer steps = over("floor(10*x)*y+floor(7*y)", {"x", "y"});
  expect_near(steps, 5.25, 1e-6, "steps");
  EXPECT_LT(steps.evaluations, 3'000'000);
}

// Too little is allowed to follow a ridge from one side of the box to the other: what regions tell, who have
// met it in a part of its length, is no less than they are off.
TEST(Hidden, RidgesThatAreNotClaimedAreInTheError) {
  const std::vector<std::string> variables{"x", "y"};
  for (const char* across : {"x-y", "x+y-1"})
    for (const double k : {1e4, 1e5, 1e6, 4e6})
      for (const double relative : {1e-3, 1e-6}) {
        const std::string text = fmt::format("exp(-{}*({})^2)", k, across);
        const formula::Tree tree = formula::parse(text);
        Box box{{{0, 1}, {0, 1}}};
        box.features = features_of(tree, variables, box);
        box.hidden = hidden_regions(tree, variables, box);
        const Answer told = automatic_cubature(many_values_of(tree, variables), box, {.relative = relative},
                                               {.evaluations = 600'000});
        const double exact = root_pi / std::sqrt(k) - 1 / k;
        EXPECT_TRUE(std::fabs(told.value - exact) <= told.error())
            << text << ": " << words(told) << " " << told.value - exact << " " << told.error();
      }
}

// Comparisons of several variables together: no axis alone shows where their outcome changes.
TEST(Hidden, PartsThatAComparisonCutsOff) {
  struct Tried {
    const char* text;
    double exact;
  };
  const std::vector<std::string> variables{"x", "y"};
  int claims = 0;
  for (const Tried& t :
       {Tried{"x+y>1.9999", 5e-9}, Tried{"1+1e6*(x+y>1.9999)", 1.005}, Tried{"max(0,x+y-1.999)", 1e-9 / 6},
        Tried{"(x-0.3)^2+(y-0.7)^2<1e-7", std::numbers::pi * 1e-7},
        Tried{"1+1e5*((x-0.3)^2+(y-0.7)^2<1e-7)", 1 + std::numbers::pi * 1e-2}})
    for (const char* rule : {"auto", "genz_malik", "quasi_random", "vegas", "tanh_sinh"}) {
      const formula::Tree tree = formula::parse(t.text);
      Box box{{{0, 1}, {0, 1}}};
      if (std::string(rule) == "auto") box.features = features_of(tree, variables, box);
      box.hidden = hidden_regions(tree, variables, box);
      ASSERT_EQ(box.hidden.size(), 1) << t.text;
      const Answer answer = by_name(rule, many_values_of(tree, variables), box, {.relative = 1e-3},
                                    {.evaluations = 20'000'000, .seconds = 10}, {}, 2, 1);
      EXPECT_FALSE(std::fabs(answer.value - t.exact) > answer.error())
          << t.text << " by " << rule << " " << answer.value;
      if (std::string(rule) == "auto") claims += answer.converged();
    }
  EXPECT_GE(claims, 4);
  const formula::Tree little = formula::parse("1+(x+y>1.9999)"), none = formula::parse("1+(x+y>1)");
  Box box{{{0, 1}, {0, 1}}};
  EXPECT_TRUE(hidden_regions(none, variables, box).empty());
  box.hidden = hidden_regions(little, variables, box);
  EXPECT_TRUE(by_name("genz_malik", many_values_of(little, variables), box, {.relative = 1e-6}, {}, {}, 2, 1)
                  .converged());
}

}  // namespace
}  // namespace tessera::quadrature
