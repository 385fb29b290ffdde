// SPDX-License-Identifier: Apache-2.0
#include "integrate_batch.hpp"
#include <gtest/gtest.h>
#include <bit>
#include <cmath>
#include <numbers>
#include "batch_testing.hpp"
#include "ops/integrate/rules/integrands.hpp"
#include "tessera/core/error.hpp"
#include "tessera/core/operation.hpp"
#include "tessera/run/run.hpp"
#include "tests/complaint.hpp"

namespace tessera::integrate_batch {
namespace {

TEST(Batch, KnownIntegralsAreRightOrSaidNotToBe) {
  int all = 0, met = 0;
  for (const double relative : {1e-4, 1e-9, 1e-12})
    for (const auto& known : quadrature::known_integrals()) {
      const Batch batch = ran(arguments_of("p*(" + known.text + ")",
                                           number(known.range.lower) + " " + number(known.range.upper),
                                           "p=-2:3", 3, {{"relative", number(relative)}}));
      for (std::size_t i = 0; i < 3; ++i) {
        const double p = -2 + 2.5 * static_cast<double>(i);
        expect_honest(batch, i, p * known.exact, relative,
                      fmt::format("{} {} by {}", known.id, known.text, relative));
        ++all;
        met += batch.why[i] == converged;
      }
    }
  EXPECT_GE(all, 270);
  EXPECT_GE(met * 100, all * 80) << met << " of " << all;
}

TEST(Batch, FamiliesMatchTheirClosedForms) {
  const double pi = std::numbers::pi;
  const std::vector<Family> families = {
      {"x^k", "0 1", "k=-0.9:5", [](double k) { return 1 / (k + 1); }, -0.9, 5},
      {"cos(k*x)*exp(-x)", "0 inf", "k=0:20", [](double k) { return 1 / (1 + k * k); }, 0, 20},
      {"1/(1+k^2*x^2)", "-inf inf", "k=0.1:50", [&](double k) { return pi / k; }, 0.1, 50},
      {"exp(-k*x)", "0 inf", "k=1e-4:1e4:log", [](double k) { return 1 / k; }, 1e-4, 1e4},
      {"abs(x-k)", "0 1", "k=0:1", [](double k) { return (k * k + (1 - k) * (1 - k)) / 2; }, 0, 1},
      {"if(x*x<k,1,0)", "0 1", "k=0:1", [](double k) { return std::sqrt(k); }, 0, 1, 0.9},
      {"sqrt(abs(x*x-k))", "0 0+sqrt(k)", "k=0.01:9", [&](double k) { return pi / 4 * k; }, 0.01, 9},
      {"exp(-((x-k)*1e3)^2)", "0 1", "k=0.1:0.9", [&](double) { return std::sqrt(pi) * 1e-3; }, 0.1, 0.9},
      {"log(x/k)", "0 k", "k=1:7", [](double k) { return -k; }, 1, 7},
      {"1/((x-k)^2+1e-8)", "-1 2", "k=0:1",
       [](double k) { return 1e4 * (std::atan(1e4 * (2 - k)) + std::atan(1e4 * (1 + k))); }, 0, 1},
  };
  constexpr int n = 60;
  for (const Family& family : families) {
    const Batch batch =
        ran(arguments_of(family.formula, family.limits, family.parameters, n, {{"relative", "1e-9"}}));
    const bool log = std::string(family.parameters).ends_with(":log");
    std::size_t met = 0;
    for (std::size_t i = 0; i < n; ++i) {
      const double share = static_cast<double>(i) / (n - 1);
      const double k = log ? family.from * std::pow(family.to / family.from, share)
                           : family.from + (family.to - family.from) * share;
      expect_honest(batch, i, family.exact(k), 1e-9, fmt::format("{} k = {}", family.formula, k));
      met += batch.why[i] == converged;
    }
    EXPECT_GE(static_cast<double>(met), family.share * n) << family.formula;
  }
}

// A jump that no part of the formula gives away, at many places: it must be found or the claim left out.
// What falls as a power of the logarithm only leaves more than any one halving moves.
TEST(Batch, SlowFallsAreNotTakenForTheirEnd) {
  struct Slow {
    const char* formula;
    const char* limits;
    double exact;  // 0: there is none
  };
  const double l = std::log(3), ll = std::log(l);
  for (const Slow& slow :
       {Slow{"1/(x*log(x)*log(log(x)))+0*a", "3 inf", 0}, Slow{"1/(x*log(x))+0*a", "3 inf", 0},
        Slow{"1/(x*log(x)^1.2)+0*a", "3 inf", 5 * std::pow(l, -0.2)},
        Slow{"1/(x*log(x)^1.5)+0*a", "3 inf", 2 / std::sqrt(l)}, Slow{"1/(x*log(x)^2)+0*a", "3 inf", 1 / l},
        Slow{"1/(x*log(x)^3)+0*a", "3 inf", 0.5 / (l * l)},
        Slow{"1/(x*log(x)*log(log(x))^2)+0*a", "3 inf", 1 / ll}, Slow{"1/(x*log(x)^2)+0*a", "0 1/3", 1 / l},
        Slow{"1/(x*abs(log(x))^1.5)+0*a", "0 1/3", 2 / std::sqrt(l)},
        Slow{"1/(x*abs(log(x)))+0*a", "0 1/3", 0}})
    for (const double relative : {0.3, 0.2, 0.1, 0.05, 0.01}) {
      const Batch batch = ran(
          arguments_of(slow.formula, slow.limits, "a=0:1", 2, {{"relative", fmt::format("{}", relative)}}));
      for (std::size_t i = 0; i < batch.size(); ++i) {
        if (slow.exact == 0) EXPECT_NE(batch.why[i], 0) << slow.formula << " to " << relative;
        else
          EXPECT_LE(std::fabs(batch.value[i] - slow.exact), batch.error[i])
              << slow.formula << " to " << relative;
      }
    }
  const Batch powers = ran(arguments_of("x^a", "0 1", "a=-0.9:-0.1", 9, {{"relative", "1e-9"}}));
  for (std::size_t i = 0; i < powers.size(); ++i) EXPECT_EQ(powers.why[i], 0) << i;
}

// At places that the text cannot be solved for.
TEST(Batch, HiddenJumpsAreNeverMissed) {
  constexpr int n = 3000;
  const Batch batch =
      ran(arguments_of("if(x+exp(x)<k+exp(k),1,2)", "0 1", "k=0.001:0.999", n, {{"relative", "1e-7"}}));
  std::size_t met = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const double k = 0.001 + 0.998 * static_cast<double>(i) / (n - 1);
    expect_honest(batch, i, 2 - k, 1e-7, fmt::format("k = {:.17g}", k));
    met += batch.why[i] == converged;
  }
  EXPECT_GE(met, n * 9 / 10u);
}

// Nor are kinks, where one pair of rules alone would often see nothing.
TEST(Batch, HiddenKinksAreNeverMissed) {
  constexpr int n = 1000;
  for (const double relative : {1e-3, 1e-5, 1e-8}) {
    const Batch batch = ran(
        arguments_of("abs(x+exp(x)-k-exp(k))", "0 1", "k=0.001:0.999", n, {{"relative", number(relative)}}));
    for (std::size_t i = 0; i < n; ++i) {
      const double k = 0.001 + 0.998 * static_cast<double>(i) / (n - 1);
      EXPECT_EQ(batch.why[i], converged);
      const auto area = [](double x) { return x * x / 2 + std::exp(x); };
      const double height = k + std::exp(k);
      expect_honest(batch, i, height * (2 * k - 1) + area(0) + area(1) - 2 * area(k), relative,
                    fmt::format("k = {}", k));
    }
  }
}

// Far out a cell's points do not resolve the swings, and of 21 heights two or three count: all four
// differences may be small there by chance, and with them the error, while the value is any number.
TEST(Batch, SwingsThatFadeAreNotMissed) {
  const std::vector<Family> families = {
      {"cos(k*x)*exp(-x)", "0 inf", "k=0.5:20", [](double k) { return 1 / (1 + k * k); }, 0.5, 20},
      {"exp(x)*cos(k*x)", "-inf 1", "k=0.5:20",
       [](double k) { return std::exp(1.0) * (k * std::sin(k) + std::cos(k)) / (1 + k * k); }, 0.5, 20, 0.98},
      {"(1+cos(k*x))*exp(-x)", "0 inf", "k=0.5:60", [](double k) { return 1 + 1 / (1 + k * k); }, 0.5, 60}};
  constexpr int n = 200;
  for (const Family& family : families)
    for (const double relative : {1e-4, 1e-6, 1e-8}) {
      const Batch batch = ran(arguments_of(family.formula, family.limits, family.parameters, n,
                                           {{"relative", number(relative)}}));
      std::size_t met = 0;
      for (std::size_t i = 0; i < n; ++i) {
        const double k = family.from + (family.to - family.from) * static_cast<double>(i) / (n - 1);
        expect_honest(batch, i, family.exact(k), relative, fmt::format("{} k = {:.17g}", family.formula, k));
        met += batch.why[i] == converged;
      }
      EXPECT_GE(static_cast<double>(met), family.share * n) << family.formula;
    }
}

// The four null rules: nothing of any polynomial below their degree, something of the next even one.
TEST(Batch, NullRulesAreNull) {
  const Nodes& nodes = kronrod_nodes();
  for (int k = 0; k < nulls; ++k)
    for (int degree = 0; degree <= 20 - 2 * k; degree += 2) {
      double sum = 0, largest = 0;
      for (int slot = 0; slot < slots; ++slot) {
        const double term = nodes.apart[k][slot] * 2 * std::pow(nodes.x[slot], degree);
        sum += term;
        largest = std::fmax(largest, std::fabs(term));
      }
      if (degree < 20 - 2 * k) EXPECT_LE(std::fabs(sum), 1e-14) << k << " " << degree;
      else EXPECT_GT(std::fabs(sum), 1e-7) << k;
    }
}

TEST(Batch, EachReasonIsItsOwn) {
  const auto why = [](const char* formula, const char* limits, Arguments::Words words = {}) {
    const Batch batch = ran(arguments_of(formula, limits, "k=1", 1, std::move(words)));
    EXPECT_EQ(std::get<std::string>(batch.told.at("reason")) == "converged", batch.why[0] == converged);
    return batch.why[0];
  };
  EXPECT_EQ(why("k*x", "0 1"), converged);
  EXPECT_EQ(why("k*x", "1 1"), converged);
  EXPECT_EQ(why("sin(k*x)", "0 5000", {{"most-evaluations", "420"}}), evaluations);
  EXPECT_EQ(why("k*sin(x)", "-1 1"), roundoff);  // 0 by symmetry: no relative accuracy
  EXPECT_EQ(why("k*sin(x)", "-1 1", {{"absolute", "1e-10"}}), converged);
  EXPECT_EQ(why("k/x", "0 1"), singular);
  EXPECT_EQ(why("k/abs(x-0.3)", "0 1"), non_finite);  // no x is near enough to the pole
  EXPECT_EQ(why("sin(x)*k", "0 inf"), singular);
  EXPECT_EQ(why("log(x-k)", "0 3"), non_finite);
  EXPECT_EQ(why("x", "0 k-inf*0"), non_finite);
  EXPECT_EQ(why("exp(-(x*x+x)^2+2e8*k*(x*x+x)-1e16)", "-inf inf"), doubtful);
}

// Jumps and kinks by the dozen, most of them between the outermost points of two cells: what is told of an
// integral that is not claimed is as far as it is off, too. Of two teeth in a cell all differences may be
// small by chance: one in hundreds is off by half more.
TEST(Batch, ErrorsHoldWhereNothingIsClaimed) {
  const double to = 2.3, pi = std::numbers::pi;
  const auto parts = [&](double a, double of) {
    return std::pair(std::floor(a * to / of), std::fmod(a * to, of));
  };
  const std::vector<Family> families = {{"fmod(a*x,1)", "0 2.3", "a=3:60",
                                         [&](double a) {
                                           const auto [n, rest] = parts(a, 1);
                                           return (n / 2 + rest * rest / 2) / a;
                                         },
                                         3, 60},
                                        {"sign(sin(a*x))", "0 2.3", "a=3:60",
                                         [&](double a) {
                                           const auto [n, rest] = parts(a, pi);
                                           return (std::fmod(n, 2) == 0 ? rest : pi - rest) / a;
                                         },
                                         3, 60},
                                        {"abs(sin(a*x))", "0 2.3", "a=3:60",
                                         [&](double a) {
                                           const auto [n, rest] = parts(a, pi);
                                           return (2 * n + 1 - std::cos(rest)) / a;
                                         },
                                         3, 60},
                                        {"floor(a*x)", "0 2.3", "a=3:60",
                                         [&](double a) {
                                           const auto [n, rest] = parts(a, 1);
                                           return n * (n - 1) / (2 * a) + n * rest / a;
                                         },
                                         3, 60}};
  constexpr int n = 200;
  for (const Family& family : families) {
    const Batch batch = ran(arguments_of(family.formula, family.limits, family.parameters, n));
    int unclaimed = 0, further_off = 0;
    for (std::size_t i = 0; i < n; ++i) {
      const double a = family.from + (family.to - family.from) * static_cast<double>(i) / (n - 1);
      const double off = std::fabs(batch.value[i] - family.exact(a));
      EXPECT_LE(off, 2 * batch.error[i] + 1e-13)
          << family.formula << " a = " << a << " reason " << batch.why[i];
      further_off += !(off <= batch.error[i] + 1e-13);
      unclaimed += batch.why[i] != converged;
    }
    EXPECT_LE(further_off, n / 100) << family.formula;
    EXPECT_GE(unclaimed, n / 10) << family.formula;
  }
}

TEST(Batch, WhatIsNotKnownIsNotTold) {
  const Batch divergent = ran(arguments_of("k/x", "0 1", "k=1", 1));
  EXPECT_TRUE(std::isinf(divergent.error[0]));
  const Batch undefined = ran(arguments_of("sqrt(x-k)", "0 1", "k=0.5:2", 2));
  EXPECT_TRUE(std::isnan(undefined.value[0]) && std::isinf(undefined.error[0]));
  // The cap comes before the second stretch was seen.
  const Batch capped = ran(arguments_of("abs(x-k)", "0 1", "k=0.5", 1, {{"most-evaluations", "42"}}));
  EXPECT_EQ(capped.why[0], evaluations);
  EXPECT_TRUE(std::isinf(capped.error[0]));
  EXPECT_LE(capped.spent[0], 42);
}

TEST(Batch, ARangeTurnedAroundIsItsNegative) {
  const Batch up = ran(arguments_of("exp(x)", "0 k", "k=1:2", 4)),
              down = ran(arguments_of("exp(x)", "k 0", "k=1:2", 4));
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(up.value[i], -down.value[i]);
}

// Every rung of our own, wherever it runs, in launches of many shapes: the same bits of everything.
TEST(Batch, EveryRungGivesTheSameBits) {
  const std::vector<Arguments> problems = {
      arguments_of("sqrt(x)*cos(k*x)", "0 3", "k=0.5:20", 75, {{"relative", "1e-9"}}),
      arguments_of("if(x*x<k,1,x)", "-1 k", "k=-0.5:1", 41),
      arguments_of("x^k*log(1+w)", "0 inf", "k=-2:0.5,w=1:2", 33, {{"most-evaluations", "4200"}}),
      arguments_of("sqrt(abs(x-k)*abs(x-w))", "0 1", "k=0.1:0.9,w=0.9:0.2", 20, {{"points", "(k+w)/2"}}),
      arguments_of("x+exp(-abs(x-0.3)/d)/d+(abs(x-d)<d*d)/d", "0 1", "d=1e-9:0.5:log", 17,
                   {{"relative", "1e-6"}}),
      arguments_of("exp(-(x-c)^2)+1/x", "c w", "c=1:3000,w=1:1e9", 9),
      arguments_of("1+(3*x^2+1)*exp(-abs(x^3+x-k)/3e-5)", "0 3", "k=-9:29", 19, {{"relative", "1e-6"}}),
      arguments_of("abs(x)^k*exp(-x*x)+(x*x*x+x<k)", "-inf 1", "k=-0.5:120", 12)};
  for (const Arguments& problem : problems) {
    const Batch first = ran(problem, {.device = "cpu", .variant = "naive", .cached = false});
    int others = 0;
    for (const Variant* variant : ladder_of("integrate_batch")) {
      Backend* const backend = find_backend(variant->where);
      if (variant->baseline || backend == nullptr || backend->devices().empty()) continue;
      std::vector<std::optional<Tuning>> shapes{std::nullopt};
      for (const int blocks : {1, 3})
        if (!variant->choices[0].ranges.empty()) shapes.push_back(Tuning{{"block", blocks}});
      for (const char* threads : {":threads=1", ":threads=3"})
        for (const auto& shape : shapes) {
          const std::string device =
              std::string(name_of(variant->where)) + (variant->where == Where::cuda ? "" : threads);
          EXPECT_EQ(
              first,
              ran(problem, {.device = device, .variant = variant->name, .tuning = shape, .cached = false}))
              << variant->name << " on " << device << (shape ? " " + to_string(*shape) : "");
          ++others;
        }
    }
    EXPECT_GE(others, 16);
  }
}

TEST(Batch, TakesParametersAndTolerancesFromArrays) {
  double p[] = {1, 0.5, 2, 0.25, 3, 0.125}, t[] = {1e-3, 1e-8, 1e-12};
  const ArrayView rows{p, Element::f64, {3, 2}, {2, 1}}, tolerances{t, Element::f64, {3}, {1}};
  const Batch batch = ran(arguments_of("k*x^w", "0 1", "k,w", 0, {}, {{"P", rows}, {"T", tolerances}}));
  ASSERT_EQ(batch.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) expect_honest(batch, i, p[2 * i] / (1 + p[2 * i + 1]), t[i], "array");
  EXPECT_LT(batch.spent[0], batch.spent[2]);
  EXPECT_EQ(batch.why, (std::vector{0, 0, 0}));
  // One of the two would be ignored.
  const Arguments::Words also{{"relative", "1e-5"}};
  EXPECT_THROW(ran(arguments_of("k*x^w", "0 1", "k,w", 0, also, {{"P", rows}, {"T", tolerances}})), Error);
}

TEST(Batch, WordsThatMeanNothingAreRefused) {
  const auto says = [](const char* part, const char* formula, const char* limits, const char* parameters,
                       Arguments::Words words = {}) {
    const std::string said =
        complaint([&] { (void)ran(arguments_of(formula, limits, parameters, 4, std::move(words))); });
    EXPECT_NE(said.find(part), std::string::npos) << part << ": " << said;
  };
  says("no array", "k*x", "0 1", "k");
  says("neither the formula", "x", "0 1", "k=1:2");
  says("e is a constant", "e*k", "e=[0,1]", "k=1:2");
  says("named twice", "k*x", "0 1", "k=1:2,k=2:3");
  says("is the variable", "x", "0 1", "x=1:2");
  says("names no parameter", "x", "0 1", "pi=1:2");
  says("is no range", "k*x", "0 1", "k=1:2:lin");
  says("finite numbers", "k*x", "0 1", "k=0:2:log");
  says("finite numbers", "k*x", "0 1", "k=0:inf");
  says("not two", "k*x", "0", "k=1:2");
  says("no parameter", "k*x", "0 w", "k=1:2");
  says("the variable", "k*x", "0 x", "k=1:2");
  says("column", "k*(x", "0 1", "k=1:2");
  says("from 0 on", "k*x", "0 1", "k=1:2", {{"relative", "-1"}});
  says("from 0 on", "k*x", "0 1", "k=1:2", {{"absolute", "-1"}});
  says("out of its range", "k*x", "0 1", "k=1:2", {{"most-evaluations", "41"}});
}

// A known lie: the check of this operation must find it.
TEST(Batch, TheCheckFindsAWrongIntegral) {
  const Arguments arguments = arguments_of("exp(-k*x)", "0 inf", "k=1:2", 5);
  Batch batch = ran(arguments);
  EXPECT_TRUE(verdict_of(arguments, batch).passed);
  batch.value[3] *= 1 + 3e-10;
  EXPECT_FALSE(verdict_of(arguments, batch).passed);
  batch.value[3] = NAN;
  EXPECT_FALSE(verdict_of(arguments, batch).passed);
}

// ∫ x^a/(1+x)² = πa/sin(πa): from 1e154 on the square overflows, and what the formula gives is 0.
TEST(Batch, TailsHiddenByOverflowAreNotClaimedAway) {
  for (const char* relative : {"1e-8", "1e-4"}) {
    const Batch batch =
        ran(arguments_of("x^a/(1+x)^2", "0 inf", "a=0.9:0.99", 100, {{"relative", relative}}));
    for (std::size_t i = 0; i < batch.size(); ++i) {
      const double a = 0.9 + 0.09 * static_cast<double>(i) / 99,
                   exact = std::numbers::pi * a / std::sin(std::numbers::pi * a);
      expect_honest(batch, i, exact, std::stod(relative), fmt::format("a = {}", a));
    }
  }
  const Batch claimed = ran(arguments_of("x^a/(1+x)^2", "0 inf", "a=0.1:0.7", 20, {{"relative", "1e-8"}}));
  for (std::size_t i = 0; i < claimed.size(); ++i) EXPECT_EQ(claimed.why[i], converged) << i;
}

// What falls hardly faster than the inverse distance has a part of itself behind 1e50, and the check's rule
// goes there.
TEST(Batch, TheCheckOfSlowTailsIsRight) {
  for (const char* formula : {"1/(1+x^a)", "1/(1+x)^a"}) {
    const Arguments arguments = arguments_of(formula, "0 inf", "a=1.04:1.2", 9);
    Batch batch = ran(arguments);
    const Verdict verdict = verdict_of(arguments, batch);
    EXPECT_TRUE(verdict.passed) << formula << ": " << describe(verdict);
  }
}

// Windows that only few of the integrals' first points meet, and no change of a sign shows: at both edges of
// one it changes between two places that are tried.
TEST(Batch, WhatNobodyKnowsIsNotCheckedAndHasNoError) {
  constexpr int n = 300;
  const Arguments arguments = arguments_of("((x*x*x+x)^2-2*a*(x*x*x+x)+a*a<1e-10)", "0 1", "a=0.1:1.9", n);
  Batch batch = ran(arguments);
  int unknown = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const double a = 0.1 + 1.8 * static_cast<double>(i) / (n - 1);
    const double exact = where_cubic_is(a + 1e-5) - where_cubic_is(a - 1e-5);
    EXPECT_LE(std::fabs(batch.value[i] - exact), batch.error[i] + 1e-12) << i;
    if (batch.why[i] == converged) continue;
    EXPECT_TRUE(std::isinf(batch.error[i])) << i;
    ++unknown;
  }
  EXPECT_GE(unknown, n / 2);
  const Verdict verdict = verdict_of(arguments, batch);
  EXPECT_TRUE(verdict.passed) << describe(verdict);
  EXPECT_NE(verdict.method.find("not checked"), std::string::npos) << verdict.method;
  EXPECT_EQ(verdict.method.find("every element"), std::string::npos) << verdict.method;
}

}  // namespace
}  // namespace tessera::integrate_batch
