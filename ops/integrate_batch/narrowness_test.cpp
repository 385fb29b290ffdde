// SPDX-License-Identifier: Apache-2.0
#include <numbers>
#include <tuple>
#include "batch_testing.hpp"

namespace tessera::integrate_batch {
namespace {

// Beside cuts and ends the formula tells how narrow a structure may be; there the first cells are as near.
TEST(Batch, NarrowStructuresBesideCutsAndEndsAreSeen) {
  const double root = std::sqrt(std::numbers::pi), pi = std::numbers::pi;
  const auto one = [](double value) { return [value](double) { return value; }; };
  const std::vector<Family> families = {
      {"exp(-(x-k)^2)", "0 1e7", "k=20:3000", one(root), 20, 3000},
      {"exp(-(x-k)^2)", "0 1e9", "k=20:3000", one(root), 20, 3000},
      {"exp(-(x-k)^2)", "0 1e150", "k=20:3000", one(root), 20, 3000},
      {"exp(-(x-k)^2)", "0 inf", "k=1e7:2e7", one(root), 1e7, 2e7, 0},
      {"1/cosh(x-k)", "0 1e12", "k=50:3000", one(pi), 50, 3000},
      {"exp(-abs(x-50))", "0 k", "k=1e6:1e100:log", one(2), 1e6, 1e100},
      {"exp(-k*x)", "0 inf", "k=1:1e12:log", [](double k) { return 1 / k; }, 1, 1e12},
      {"1+exp(-x/k)/k", "0 1", "k=1e-12:1e-3:log", one(2), 1e-12, 1e-3},
      {"1+exp((x-1)/k)/k", "0 1", "k=1e-5:1e-3:log", one(2), 1e-5, 1e-3, 0.8},
      {"1+k^(-1)*2^(-x/k)*log(2)", "0 1", "k=1e-12:1e-3:log", one(2), 1e-12, 1e-3},
      {"1+exp(-sqrt(x)/k)/k^2/2", "0 1", "k=1e-5:1e-3:log", one(2), 1e-5, 1e-3},
      {"1+1/(k*(exp(x/k)+1))/log(2)", "0 1", "k=1e-12:1e-3:log", one(2), 1e-12, 1e-3},
      {"1+19*x^(-20)", "1 k", "k=1e6:1e9:log", [](double k) { return k; }, 1e6, 1e9},
      {"exp(-x)+k*exp(-k*x)", "0 inf", "k=1:1e-25:log", one(2), 1, 1e-25},
      {"exp(-x*x)+k*exp(-(k*x)^2)", "-inf inf", "k=1:1e-100:log", one(2 * root), 1, 1e-100},
      {"exp(-x)+k/(1+(k*x)^2)", "0 inf", "k=1:1e-20:log", one(1 + pi / 2), 1, 1e-20},
      {"1+exp(-x/k)*x/k^2", "0 1", "k=1e-100:1e-3:log", one(2), 1e-100, 1e-3},
      {"1+2*k^2/(x+k)^3", "0 1", "k=1e-12:1e-9:log", one(2), 1e-12, 1e-9},
      {"1+exp(-k*(x-0.3)^2)*sqrt(k)", "0 1", "k=1e6:1e14:log", one(1 + root), 1e6, 1e14, 0.3},
      {"1+exp(-abs(x-0.3)/k)/k", "0 1", "k=1e-9:1e-3:log", one(3), 1e-9, 1e-3, 0.3},
      {"1+k/((x-0.3)^2+k^2)", "0 1", "k=1e-9:1e-4:log",
       [](double k) { return 1 + std::atan(0.7 / k) + std::atan(0.3 / k); }, 1e-9, 1e-4, 0.2},
      {"x+(abs(x-0.3)<k)/k", "0 1", "k=1e-12:1e-3:log", one(2.5), 1e-12, 1e-3, 0.3},
      {"x+max(0,1-abs(x-0.3)/k)/k", "0 1", "k=1e-9:1e-3:log", one(1.5), 1e-9, 1e-3, 0.3}};
  constexpr int n = 13;
  for (const Family& family : families)
    for (const double relative : {1e-6, 1e-9, 1e-11}) {
      const Batch batch = ran(arguments_of(family.formula, family.limits, family.parameters, n,
                                           {{"relative", number(relative)}}));
      const bool log = std::string(family.parameters).ends_with(":log");
      std::size_t met = 0;
      for (std::size_t i = 0; i < n; ++i) {
        const double share = static_cast<double>(i) / (n - 1);
        const double k = log ? family.from * std::pow(family.to / family.from, share)
                             : family.from + (family.to - family.from) * share;
        expect_honest(batch, i, family.exact(k), relative,
                      fmt::format("{} {} k = {} by {}", family.formula, family.limits, k, relative));
        met += batch.why[i] == converged;
      }
      // At 1e7 doubles are 2e-9 apart: what is asked for beyond that is refused.
      const double share = relative > 1e-7 ? std::max(family.share, 0.7) : family.share;
      EXPECT_GE(static_cast<double>(met), share * n) << family.formula << " by " << relative;
    }
}

// What an array gives is not known beforehand: each integral is asked then, with the same answers.
TEST(Batch, NarrownessIsThatOfEachIntegral) {
  double p[] = {0.5, 1e-9, 0.25, 1e-6};
  const ArrayView rows{p, Element::f64, {4, 1}, {1, 1}};
  const Batch batch = ran(arguments_of("1+exp(-x/d)/d", "0 1", "d", 0, {}, {{"P", rows}}));
  for (std::size_t i = 0; i < 4; ++i) expect_honest(batch, i, 2 - std::exp(-1 / p[i]), 1e-10, "array");
  EXPECT_EQ(batch.why, (std::vector{0, 0, 0, 0}));
  const Batch wide = ran(arguments_of("1+exp(-x/d)/d", "0 1", "d=0.5:0.25", 2));
  EXPECT_EQ(batch.spent[0], wide.spent[0]);
  EXPECT_EQ(batch.spent[2], wide.spent[1]);
}

// Whatever a formula holds, following it neither refuses it nor takes long.
TEST(Batch, AnyFormulaCanBeFollowed) {
  std::vector<std::string> formulas = {
      "2^(-k*x)",  "x^x+k",       "k^x",           "(k+x)^(k*x)", "if(x<k,sin(x),x*x)",
      "1/(k/x+x)", "fmod(k*x,1)", "(x<k)*(x*x<k)", "-(x+k)^-2",   "0*k*x",
      "k"};
  for (const std::string& name : formula::function_names()) {
    const int most = formula::find_function(name)->least;
    formulas.push_back(name + (most == 1 ? "(k*x+2)" : most == 2 ? "(k*x+2,x)" : "(k*x,x,k)"));
    formulas.push_back("exp(-" + formulas.back() + "/(k+" + formulas.back() + "))");
  }
  for (const char* around : {"exp(-k*", "1/(k+", "sqrt(k+", "abs(k-", "max(k,"}) {
    std::string deep = "x";
    for (int i = 0; i < 40; ++i) deep = around + deep + ")";
    formulas.push_back(deep);
  }
  for (const std::string& formula : formulas)
    for (const char* limits : {"0 1", "1 1e9", "-inf inf", "k k"}) {
      const Batch batch = ran(arguments_of(formula, limits, "k=1:1e6:log", 2, {{"most-evaluations", "210"}}));
      EXPECT_EQ(batch.size(), 2u) << formula;
    }
}

// A range without width has the integral 0, where its one height is a number.
TEST(Batch, EqualLimitsNeedAHeight) {
  const auto whys = [](const char* formula, const char* limits) {
    const Batch batch = ran(arguments_of(formula, limits, "k=0:1", 3));
    for (std::size_t i = 0; i < 3; ++i)
      EXPECT_TRUE(batch.why[i] == converged ? batch.value[i] == 0 && batch.error[i] == 0
                                            : std::isnan(batch.value[i]) && std::isinf(batch.error[i]));
    return batch.why;
  };
  EXPECT_EQ(whys("1/x", "k k"), (std::vector<int>{non_finite, converged, converged}));
  EXPECT_EQ(whys("log(x-k)", "k k"), (std::vector<int>(3, non_finite)));
  EXPECT_EQ(whys("sqrt(k-1)*x", "1 1"), (std::vector<int>{non_finite, non_finite, converged}));
  EXPECT_EQ(whys("exp(-x)*k", "inf inf"), (std::vector<int>(3, converged)));
  EXPECT_EQ(whys("x+k", "inf inf"), (std::vector<int>(3, non_finite)));
}

// Where parts touch 0 and do not change their sign no cut lies: what the rule for one integral finds there,
// and the cells do not, is claimed of none.
TEST(Batch, WhatAnotherRuleContradictsIsNotClaimed) {
  // 1 over the slope there.
  const auto root = [](double a) { return 1 / (3 * std::pow(where_cubic_is(a), 2) + 1); };
  for (const auto& [formula, area, relative] :
       {std::tuple{"1+exp(-1e12*((x*x*x+x)^2-2*a*(x*x*x+x)+a*a))", std::sqrt(std::numbers::pi) * 1e-6, 1e-9},
        std::tuple{"1+((x*x*x+x)^2-2*a*(x*x*x+x)+a*a<1e-8)", 2e-4, 1e-9},
        std::tuple{"1+5*((x*x*x+x)^2-2*a*(x*x*x+x)+a*a<2.5e-5)", 0.05, 1e-4}}) {
    const Batch batch = ran(arguments_of(formula, "0 1", "a=0.2:0.8", 50, {{"relative", number(relative)}}));
    for (std::size_t i = 0; i < batch.size(); ++i) {
      const double a = 0.2 + 0.6 * static_cast<double>(i) / 49;
      const std::string what = fmt::format("{} a = {}", formula, a);
      EXPECT_NE(batch.why[i], converged) << what;
      // The area is told to its leading term.
      EXPECT_TRUE(std::fabs(batch.value[i] - 1 - area * root(a)) <= batch.error[i] + 1e-3 * area) << what;
    }
  }
  for (const char* formula : {"exp(-a*x)*cos(x)", "1+exp(-1e12*(x-a)^2)", "abs(x-a)"}) {
    const Batch batch = ran(arguments_of(formula, "0 1", "a=0.2:0.8", 50, {{"relative", "1e-9"}}));
    for (std::size_t i = 0; i < batch.size(); ++i) EXPECT_EQ(batch.why[i], converged) << formula;
  }
}

}  // namespace
}  // namespace tessera::integrate_batch
