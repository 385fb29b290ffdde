// SPDX-License-Identifier: Apache-2.0
// Zeros that no text is solved for are searched for; tails whose factors overflow; heights near the smallest
// number.
#include <gtest/gtest.h>
#include <cmath>
#include <limits>
#include <numbers>
#include <random>
#include "batch_testing.hpp"

namespace tessera::integrate_batch {
namespace {

// A peak that no point of a first cell meets, beside something larger.
TEST(SearchedZeros, NeedlesAreMet) {
  const double both = 6e-5, pi = std::numbers::pi;
  struct Known {
    const char *formula, *limits, *parameters;
    double exact;
  };
  constexpr int n = 100;
  for (const Known& known :
       {Known{"1+(3*x^2+1)*exp(-abs(x^3+x-a)/3e-5)", "0 3", "a=1:29", 3 + both},
        Known{"(3*x^2+1)*exp(-abs(x^3+x-a)/3e-5)+exp(-x*x)", "-inf inf", "a=-50:60", std::sqrt(pi) + both},
        Known{"(3*x^2+1)*exp(-abs(x^3+x-a)/3e-5)+exp(-x)", "0 inf", "a=0.01:1e4:log", 1 + both},
        Known{"1+(1+exp(x))*exp(-((x+exp(x)-a)/1e-5)^2)", "0 2", "a=1.1:9.3", 2 + 1e-5 * std::sqrt(pi)},
        Known{"1+(x+exp(x)<a)*0+(1+exp(x))*(abs(x+exp(x)-a)<2e-6)", "2 0", "a=1.1:9.3", -2 - 4e-6}}) {
    const Batch batch =
        ran(arguments_of(known.formula, known.limits, known.parameters, n, {{"relative", "1e-8"}}));
    int met = 0;
    for (std::size_t i = 0; i < n; ++i) {
      expect_honest(batch, i, known.exact, 1e-8, fmt::format("{} {}", known.formula, i));
      met += batch.why[i] == converged;
    }
    EXPECT_GE(met, 90) << known.formula;
  }
}

// Several parts change their signs between two places that are tried.
TEST(SearchedZeros, NeighboursAreTakenApart) {
  constexpr int n = 200;
  const Batch batch = ran(arguments_of(
      "1+(3*x^2+1)*(exp(-abs(x^3+x-10)/1e-5)+2*exp(-abs(x^3+x-a)/1e-6)-max(0,1-abs(x^3+x-a-1e-3)/1e-5))",
      "0 3", "a=9.9:10.1", n, {{"relative", "1e-7"}}));
  int met = 0;
  for (std::size_t i = 0; i < n; ++i) {
    expect_honest(batch, i, 3 + 2e-5 + 4e-6 - 1e-5, 1e-7, fmt::format("{}", i));
    met += batch.why[i] == converged;
  }
  EXPECT_GE(met, n * 9 / 10);
}

// More than can be cut at, some of them narrow: nothing is claimed.
TEST(SearchedZeros, TooManyAreNotClaimed) {
  std::string formula = "1";
  for (int i = 1; i < 12; ++i) formula += fmt::format("+exp(-abs(x^3+x-{}-a)/1e-7)", 2 * i);
  const Batch batch = ran(arguments_of(formula, "0 3", "a=0:1", 20, {{"relative", "1e-9"}}));
  for (std::size_t i = 0; i < batch.size(); ++i) EXPECT_NE(batch.why[i], converged);
}

// Comparisons tell of each edge twice, and a part may be 0 at several neighbouring numbers: still one place.
TEST(SearchedZeros, PlacesAreCountedOnce) {
  const std::string u = "(x*x*x+x*sqrt(1+x*x))";
  const Batch batch = ran(arguments_of("(3*x*x+sqrt(1+x*x)+x*x/sqrt(1+x*x))*(62.53*max(0,1-abs(" + u +
                                           "+14.5191)/10.6)-16.28*max(0,1-abs(" + u +
                                           "-24.3381)/0.517)-0.05838*exp(-((" + u + "-p)/0.077)^2))",
                                       "-inf inf", "p=-90:70", 200, {{"relative", "1e-3"}}));
  for (std::size_t i = 0; i < batch.size(); ++i) {
    expect_honest(batch, i, 62.53 * 10.6 - 16.28 * 0.517 - 0.05838 * 0.077 * std::sqrt(std::numbers::pi),
                  1e-3, fmt::format("{}", i));
    EXPECT_EQ(batch.why[i], converged) << i;
  }
}

// What few of the integrals have, and parameters from an array, no sample of the batch shows.
TEST(SearchedZeros, ParametersFromAnArray) {
  constexpr int n = 200;
  std::mt19937 random(3);
  std::uniform_real_distribution<double> anywhere(-400, 30);
  std::vector<double> rows;
  for (int i = 0; i < n; ++i) rows.push_back(anywhere(random));
  const ArrayView view{rows.data(), Element::f64, {n, 1}, {1, 1}};
  const Batch batch = ran(arguments_of("1+(3*x^2+1)*exp(-abs(x^3+x-a)/3e-5)", "0 3", "a", 0,
                                       {{"relative", "1e-7"}}, {{"P", view}}));
  int met = 0;
  for (std::size_t i = 0; i < n; ++i) {
    expect_honest(batch, i, 3 + (rows[i] > 1e-3 ? 6e-5 : 0), 1e-7, fmt::format("a = {}", rows[i]));
    met += batch.why[i] == converged;
  }
  EXPECT_GE(met, n * 9 / 10);
}

// Of more places than a few none is cut at, and what is told is what it was.
TEST(SearchedZeros, SwingsAreNone) {
  const double to = 3;
  const Batch batch =
      ran(arguments_of("abs(sin(a*(x+exp(x))))*(1+exp(x))", "0 3", "a=1:20", 40, {{"relative", "1e-5"}}));
  for (std::size_t i = 0; i < batch.size(); ++i) {
    const double a = 1 + 19.0 * static_cast<double>(i) / 39;
    const auto area = [&](double u) {
      const double turns = std::floor(a * u / std::numbers::pi), rest = a * u - turns * std::numbers::pi;
      return (2 * turns + 1 - std::cos(rest)) / a;
    };
    expect_honest(batch, i, area(to + std::exp(to)) - area(1), 1e-5, fmt::format("a = {}", a));
  }
}

// x^a is infinite where exp(-x) is 0.
TEST(Tails, FactorsMayOverflowWhereNothingIsLeft) {
  const std::vector<Family> families = {
      {"x^a*exp(-x)", "0 inf", "a=-0.9:3", [](double a) { return std::tgamma(a + 1); }, -0.9, 3},
      {"x^a*exp(-x)", "0 inf", "a=30:100", [](double a) { return std::tgamma(a + 1); }, 30, 100},
      {"abs(x)^a*exp(-x*x)", "-inf inf", "a=2:150", [](double a) { return std::tgamma((a + 1) / 2); }, 2,
       150},
      {"exp(-x*x)*cosh(a*x)", "-inf inf", "a=0:9",
       [](double a) { return std::sqrt(std::numbers::pi) * std::exp(a * a / 4); }, 0, 9}};
  constexpr int n = 60;
  for (const Family& family : families) {
    const Batch batch =
        ran(arguments_of(family.formula, family.limits, family.parameters, n, {{"relative", "1e-9"}}));
    for (std::size_t i = 0; i < n; ++i) {
      const double a = family.from + (family.to - family.from) * static_cast<double>(i) / (n - 1);
      expect_honest(batch, i, family.exact(a), 1e-9, fmt::format("{} a = {}", family.formula, a));
      EXPECT_EQ(batch.why[i], converged) << family.formula << " a = " << a;
    }
  }
}

// Where nothing had faded before, no number is none.
TEST(Tails, WhatIsNoNumberIsNotTakenForNothing) {
  for (const char* formula :
       {"a*exp(x)*exp(-x)", "a+sqrt(50-x)", "exp(-x)+a*x^90*exp(-0.1*x)/x^90*exp(-0.01*x)",
        "exp(-x)+sqrt(-x-a)", "exp(-x)+a*exp(x*x)*exp(-x*x)/(1+x*x)"}) {
    const Batch batch = ran(arguments_of(formula, "0 inf", "a=1:2", 3, {{"relative", "1e-4"}}));
    for (std::size_t i = 0; i < batch.size(); ++i) EXPECT_EQ(batch.why[i], non_finite) << formula;
  }
}

// Whole multiples of 4.9e-324: what they are off by is no small share of them.
TEST(Tails, FewMultiplesOfTheSmallestNumberAreCharged) {
  const double least = std::numeric_limits<double>::denorm_min();
  const struct {
    const char *limits, *parameters;
    double from, to;
  } ranges[] = {{"0 1", "a=1:1.1", 1, 1.1}, {"0 1", "a=0.01:5", 0.01, 5}, {"0 inf", "a=0.01:5", 0.01, 5}};
  constexpr int n = 40;
  int claimed = 0;
  for (const char* height : {"600", "700", "738", "742"})
    for (const auto& range : ranges)
      for (const double relative : {1e-1, 1e-2, 1e-4}) {
        const Batch batch = ran(arguments_of(fmt::format("exp(-{}-a*x)", height), range.limits,
                                             range.parameters, n, {{"relative", number(relative)}}));
        for (std::size_t i = 0; i < n; ++i) {
          const double a = range.from + (range.to - range.from) * static_cast<double>(i) / (n - 1);
          const bool open = std::string(range.limits) == "0 inf";
          const long double exact =
              std::exp(-std::stold(height)) * (open ? 1 : -std::expm1(static_cast<long double>(-a))) / a;
          if (batch.why[i] != converged) continue;
          ++claimed;
          const double off = static_cast<double>(std::fabs(batch.value[i] - exact));
          EXPECT_LE(off, batch.error[i]) << height << " " << range.limits << " a = " << a;
          EXPECT_LE(off, relative * static_cast<double>(exact) + least)
              << height << " " << range.limits << " a = " << a;
        }
      }
  EXPECT_GE(claimed, 700);
}

}  // namespace
}  // namespace tessera::integrate_batch
