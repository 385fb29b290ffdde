// SPDX-License-Identifier: Apache-2.0
// Rules by name, which no other checks: none may tell less than it is off.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <cmath>
#include <numbers>
#include <random>
#include "ops/integrate/rules/by_name.hpp"
#include "ops/integrate/rules/formula_integrand.hpp"
#include "ops/integrate/rules/hidden_regions.hpp"

namespace tessera::quadrature {
namespace {

struct Known {
  std::string text;
  Range range;
  double exact;
};

// Counts what converged.
int expect_honest(const char* rule, const std::vector<Known>& all, std::initializer_list<double> tolerances,
                  const Limits& limits = {.evaluations = 200'000}) {
  int out = 0;
  for (const Known& known : all)
    for (const double relative : tolerances) {
      const Integrand f = integrand_of(formula::parse(known.text), "x", known.range);
      const Answer answer = by_name(rule, f, known.range, {.relative = relative}, limits, {});
      EXPECT_FALSE(std::fabs(answer.value - known.exact) > answer.error() + 4 * unit * std::fabs(known.exact))
          << answer.value << " +- " << answer.error() << " of " << known.text << " by " << rule << " to "
          << relative << ": " << words(answer);
      out += answer.converged();
    }
  return out;
}

// Windows and bells that lie between the points of the first cells; the text tells where their middle is.
TEST(Named, NarrowWindowsThatTheTextTellsOf) {
  std::vector<Known> all;
  for (const double c : {0.1234, 0.497797, 0.59323, 0.871})
    for (const double w : {1e-6, 2.6e-5, 7e-4, 1e-2}) {
      const std::string middle = "abs(x-" + std::to_string(c) + ")", width = std::to_string(w);
      all.push_back({"1+(" + middle + "<" + width + ")/" + width, {0, 1}, 3});
      all.push_back({"1-0.01*(" + middle + "<" + width + ")/" + width, {0, 1}, 0.98});
      all.push_back({"1+max(0,1-" + middle + "/" + width + ")/" + width, {0, 1}, 2});
    }
  EXPECT_GE(expect_honest("gauss_kronrod", all, {1e-4, 1e-7}), 60);
}

TEST(Named, EvenStripsAtSingularEnds) {
  std::vector<Known> all = {{"log(x)", {0, 1}, -1},
                            {"log(x)^2", {0, 1}, 2},
                            {"-log(1-x)", {0, 1}, 1},
                            {"log(x)/sqrt(x)", {0, 1}, -4},
                            {"x^-0.5*log(1/x)^2", {0, 1}, 16},
                            {"x*log(x)", {0, 1}, -0.25},
                            {"sqrt(x)*log(x)", {0, 1}, -4.0 / 9},
                            {"abs(log(x))^-0.5", {0, 1}, 1.7724538509055160},
                            {"1/(x*log(x)^2)", {0, 0.5}, 1.4426950408889634},
                            {"1/sqrt(1-x^2)", {-1, 1}, 3.1415926535897932},
                            {"1/(sqrt(x)*(1+x))", {0, 1}, 1.5707963267948966},
                            {"sqrt(tan(x))", {0, 1.5707963267948966}, 2.2214414690791831},
                            {"1/sqrt(x)+1/sqrt(1-x)", {0, 1}, 4}};
  for (const double power : {0.1, 0.3, 0.5, 0.8, 0.9, 0.95})
    all.push_back({"x^-" + std::to_string(power), {0, 1}, 1 / (1 - power)});
  const auto tolerances = {1e-2, 1e-3, 1e-4, 1e-6, 1e-8};
  EXPECT_GE(expect_honest("richardson", all, tolerances), 55);
  EXPECT_GE(expect_honest("simpson", all, tolerances), 20);
}

TEST(Named, EvenStripsAtPowersWithin) {
  std::vector<Known> all;
  for (const double c : {0.1, 0.2, 0.3, 1.0 / 3, 0.41, 0.5, 0.6123, 0.9, 0.99})
    for (const double power : {-0.3, 0.25, 0.5, 1.5}) {
      const std::string text = "abs(x-" + std::to_string(c) + ")^" + std::to_string(power);
      const double at = std::stod(std::to_string(c));
      all.push_back({text, {0, 1}, (std::pow(at, 1 + power) + std::pow(1 - at, 1 + power)) / (1 + power)});
    }
  for (const char* rule : {"richardson", "simpson"})
    EXPECT_GE(expect_honest(rule, all, {1e-2, 1e-3, 1e-4, 1e-6}), 70) << rule;
}

TEST(Named, GaussKronrodOverSwingsThatItsFirstCellsMiss) {
  std::vector<Known> all;
  for (const double w : {30, 100, 170, 300, 450, 700, 1000, 1500, 3000}) {
    all.push_back({"exp(-x)*sin(" + std::to_string(w) + "*x)", {0, infinity}, w / (1 + w * w)});
    all.push_back({"exp(-x)*cos(" + std::to_string(w) + "*x)", {0, infinity}, 1 / (1 + w * w)});
    all.push_back(
        {"x*exp(-x)*sin(" + std::to_string(w) + "*x)", {0, infinity}, 2 * w / ((1 + w * w) * (1 + w * w))});
  }
  EXPECT_GE(expect_honest("gauss_kronrod", all, {0.3, 0.1, 1e-2, 1e-3}), 60);
}

// Comparisons of two variables: sums of all points and of every second one may be wrong alike.
TEST(Named, ProductsOverHalfPlanesAndSteps) {
  const double e = std::numbers::e, third = 1.0 / 3;
  const auto below = [](double c) { return c - c * std::log(c); };  // the area of x*y < c
  const std::vector<Known> all = {{"x+y>1", {}, 0.5},
                                  {"x+y>0.7", {}, 0.755},
                                  {"x+y>1 ? 1 : 2", {}, 1.5},
                                  {"x+y>1 ? x : y", {}, 0.5},
                                  {"x>y", {}, 0.5},
                                  {"(x>y)*x", {}, third},
                                  {"x<y*y", {}, third},
                                  {"x*y>0.3", {}, 1 - below(0.3)},
                                  {"floor(3*x*y)", {}, 2 - below(third) - below(2 * third)},
                                  {"x^2+y^2<1", {}, std::numbers::pi / 4},
                                  {"(x<0.3)*(y<0.6)", {}, 0.18},
                                  {"x-y>0.2", {}, 0.32},
                                  {"x+y<1 ? exp(x+y) : 0", {}, 1},
                                  {"fmod(x+y,1)", {}, 0.5},
                                  {"(x>0.5)*exp(x)", {}, e - std::sqrt(e)},
                                  {"abs(x-y)", {}, third},
                                  {"sqrt(abs(x+y-1))", {}, 8.0 / 15},
                                  {"exp(-x-y)", {}, (1 - 1 / e) * (1 - 1 / e)},
                                  {"1/sqrt(x*y)", {}, 4}};
  int converged = 0;
  for (const Known& known : all)
    for (const double relative : {1e-1, 1e-2, 1e-3, 1e-4, 1e-6}) {
      const Answer answer =
          by_name("tanh_sinh", many_values_of(formula::parse(known.text), {"x", "y"}), {{{0, 1}, {0, 1}}},
                  {.relative = relative}, {.evaluations = 1'000'000}, {}, 2, 1);
      EXPECT_FALSE(std::fabs(answer.value - known.exact) > answer.error())
          << known.text << " to " << relative << ": " << answer.value << " +- " << answer.error();
      converged += answer.converged();
    }
  EXPECT_GE(converged, 45);
}

// Products of steps and others, cut at random places: what lies between a step and the next piece of the grid
// is seen by few points.
TEST(Named, QuasiRandomPointsAtSteps) {
  std::mt19937 random(5);
  std::uniform_real_distribution<double> places(0.1, 0.95);
  int wrong = 0, all = 0, converged = 0;
  for (int trial = 0; trial < 21; ++trial) {
    const int d = 2 + trial % 7;
    std::vector<double> cuts;
    double exact = 1;
    for (int axis = 0; axis < d; ++axis) {
      const double at = places(random);
      cuts.push_back(trial % 3 == 0 && axis % 2 == 1 ? -at : at);
      exact *= cuts.back() > 0 ? at : 0.5 * (at * at + (1 - at) * (1 - at));
    }
    const ManyValues f = [cuts](std::span<const double> points, std::size_t count, std::span<double> y) {
      std::fill_n(y.begin(), count, 1);
      for (std::size_t k = 0; k < cuts.size(); ++k)
        for (std::size_t i = 0; i < count; ++i) {
          const double x = points[k * count + i];
          y[i] *= cuts[k] > 0 ? (x < cuts[k] ? 1 : 0) : std::fabs(x + cuts[k]);
        }
    };
    const Box box{std::vector<Range>(cuts.size())};
    for (const std::uint64_t seed : {1, 2}) {
      const Answer answer =
          by_name("quasi_random", f, box, {.relative = 3e-3}, {.evaluations = 2'000'000}, {}, 2, seed);
      ++all;
      converged += answer.converged();
      wrong += std::fabs(answer.value - exact) > answer.error();
      EXPECT_LT(std::fabs(answer.value - exact), 1.5 * answer.error()) << d << " variables, " << trial;
    }
  }
  EXPECT_LE(wrong, 1) << "one in a thousand is expected";
  EXPECT_GE(converged, all - 4);
}

// Two bells many widths apart on axes without end: no rule may claim one of them for both.
TEST(Named, EachOfTwoBellsFarApartIsMet) {
  const Box box{{{-infinity, infinity}, {-infinity, infinity}}};
  const double pi = std::numbers::pi;
  int claimed = 0;
  for (const char* rule : {"genz_malik", "gauss_kronrod", "tanh_sinh", "quasi_random", "vegas"})
    for (const auto& [x, y] : {std::pair(60, -90), std::pair(-300, 2), std::pair(12, 15)}) {
      const std::string text = fmt::format("exp(-x^2-y^2)+exp(-(x-({}))^2-(y-({}))^2)", x, y);
      const Answer answer = by_name(rule, many_values_of(formula::parse(text), {"x", "y"}), box,
                                    {.relative = 1e-3}, {.evaluations = 2'000'000}, {}, 2, 1);
      claimed += answer.converged();
      EXPECT_FALSE(answer.converged() && !(std::fabs(answer.value - 2 * pi) <= answer.error()))
          << text << " by " << rule;
    }
  // A single one far out, or near, is claimed as before.
  for (const char* rule : {"genz_malik", "gauss_kronrod", "tanh_sinh", "quasi_random"}) {
    const Answer one = by_name(rule, many_values_of(formula::parse("exp(-x^2-(y-2)^2)"), {"x", "y"}), box,
                               {.relative = 1e-3}, {.evaluations = 2'000'000}, {}, 2, 1);
    EXPECT_TRUE(one.converged() && std::fabs(one.value - pi) <= one.error()) << rule << " " << words(one);
  }
  EXPECT_LE(claimed, 14);
}

// Needles that regions pass, over what they see: claimed by what `auto` finds, or not at all.
TEST(Named, NeedlesBesideSomethingLargeAreNotClaimedAway) {
  const std::vector<std::string> variables{"x", "y"};
  const Box plain{{{0, 1}, {0, 1}}};
  for (const double at : {0.3123, 0.71234, 0.05432})
    for (const double width : {1e-4, 1e-5, 3e-7}) {
      const std::string text = fmt::format("x*y+100*exp(-((x-{})/{})^2)*cos(y)", at, width);
      const double exact = 0.25 + 100 * width * std::sqrt(std::numbers::pi) * std::sin(1.0);
      const formula::Tree tree = formula::parse(text);
      Box box = plain;
      box.features = features_of(tree, variables, box);
      for (const char* rule : {"genz_malik", "vegas"}) {
        const Answer answer = by_name(rule, many_values_of(tree, variables), box, {.relative = 1e-5},
                                      {.evaluations = 4'000'000}, {}, 2, 1);
        EXPECT_FALSE(answer.converged() && !(std::fabs(answer.value - exact) <= answer.error()))
            << text << " by " << rule << ": " << answer.value << " +- " << answer.error() << " is not "
            << exact;
      }
    }
  // Of more variables, where few points claim it.
  const std::vector<std::string> four{"x", "y", "z", "u"};
  const formula::Tree tree = formula::parse("x*y+100*exp(-((x-0.3123)/1e-4)^2)*cos(y)*z*u");
  Box box{{{0, 1}, {0, 1}, {0, 1}, {0, 1}}};
  box.features = features_of(tree, four, box);
  const Answer answer = by_name("genz_malik", many_values_of(tree, four), box, {.relative = 1e-6},
                                {.evaluations = 100'000'000}, {}, 2, 1);
  EXPECT_FALSE(answer.converged()) << answer.value << " is not 0.2537287";
  EXPECT_LE(std::fabs(answer.value - 0.2537286712), answer.error());
}

// The first points of all regions meet zeros; those on edges do not.
TEST(Named, ZerosOfTheFirstPointsAreNotAllThatIs) {
  for (const double at : {0.98763, 0.99, 0.9951}) {
    const std::string text = fmt::format("634.9*(x>{})*(1+z)*abs(u-0.78247)", at);
    const double exact = 634.9 * (1 - at) * 1.5 * (0.78247 * 0.78247 + 0.21753 * 0.21753) / 2;
    const Answer answer =
        by_name("genz_malik", many_values_of(formula::parse(text), {"x", "z", "u"}),
                {{{0, 1}, {0, 1}, {0, 1}}}, {.relative = 1e-3}, {.evaluations = 4'000'000}, {}, 2, 1);
    EXPECT_GT(answer.value, exact / 2) << text;
    EXPECT_LE(std::fabs(answer.value - exact), answer.error()) << text;
  }
}

// A peak at a place that the text shows, and no rule's first points meet: richardson, simpson and tanh_sinh
// claimed it away.
TEST(Named, WhatTheTextShowsIsNotClaimedAway) {
  const Range range{-1, 1.9};
  const double area = std::sqrt(std::numbers::pi);
  int claimed = 0;
  for (const auto& [place, width] :
       {std::pair(2.44001, 1.33e-5), std::pair(0.1, 1e-3), std::pair(-0.7, 3e-7)}) {
    const std::string text =
        fmt::format("(1+exp(x))*((x+exp(x))^2-11.2*exp(-((x+exp(x)-({}))/{})^2))", place, width);
    const auto third = [](double u) { return u * u * u / 3; };
    const double exact =
        third(1.9 + std::exp(1.9)) - third(std::exp(-1.0) - 1) - (place > -0.6 ? 11.2 * area * width : 0);
    for (const char* rule : {"richardson", "simpson", "gauss_kronrod", "tanh_sinh"})
      for (const double relative : {1e-10, 1e-6}) {
        const Answer answer = by_name(rule, integrand_of(formula::parse(text), "x", range), range,
                                      {.relative = relative}, {}, {});
        claimed += answer.converged();
        if (!answer.converged()) continue;
        EXPECT_LE(std::fabs(answer.value - exact), answer.error() + 1e-14 * std::fabs(exact))
            << text << " by " << rule;
        EXPECT_LE(std::fabs(answer.value - exact), 1.001 * relative * std::fabs(exact))
            << text << " by " << rule;
      }
  }
  EXPECT_GE(claimed, 8);
}

// Products and regions, as probes show nothing of it: auto is asked where the text does.
TEST(Named, OfTwoVariablesToo) {
  const std::vector<std::string> variables{"x", "y"};
  const std::string text = "(0.2-x)^2*(y<0.7)-7.6*exp(-((x-0.312)/1e-5)^2)*cos(20*(y-0.6))";
  const formula::Tree tree = formula::parse(text);
  Box box{{{-0.6, 0.7}, {-0.3, 1}}};
  box.features = features_of(tree, variables, box);
  box.hidden = hidden_regions(tree, variables, box);
  const double exact = (0.8 * 0.8 * 0.8 + 0.5 * 0.5 * 0.5) / 3 -
                       7.6e-5 * std::sqrt(std::numbers::pi) * (std::sin(8.0) + std::sin(18.0)) / 20;
  for (const char* rule : {"gauss_kronrod", "tanh_sinh", "quasi_random"})
    for (const double relative : {1e-3, 1e-6}) {
      const Answer answer = by_name(rule, many_values_of(tree, variables), box, {.relative = relative},
                                    {.evaluations = 2'000'000}, {}, 2, 1);
      EXPECT_FALSE(answer.converged() && !(std::fabs(answer.value - exact) <= answer.error()))
          << rule << " " << relative;
    }
  const Answer zeros =
      by_name("genz_malik", many_values_of(formula::parse("max(0,1-abs(x-0.4123)/1e-6)*(y+2)"), variables),
              {{{0, 1}, {0, 1}}}, {.relative = 1e-3}, {.evaluations = 100'000}, {}, 2, 1);
  EXPECT_TRUE(!zeros.converged() && std::isinf(zeros.error())) << words(zeros);
}

}  // namespace
}  // namespace tessera::quadrature
