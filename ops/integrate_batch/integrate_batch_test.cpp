// SPDX-License-Identifier: Apache-2.0
#include "integrate_batch.hpp"
#include <gtest/gtest.h>
#include <bit>
#include <cmath>
#include <numbers>
#include <fmt/format.h>
#include <functional>
#include "tests/given_integrals.hpp"
#include "tessera/core/text/error.hpp"
#include "tessera/core/operation/operation.hpp"
#include "tessera/run/run.hpp"
#include "tessera/run/verify.hpp"
#include "tests/complaint.hpp"

namespace tessera::integrate_batch {
namespace {

const Operation& operation() { return *find_operation("integrate_batch"); }

struct Batch {
  std::vector<double> value, error;
  std::vector<int> spent, why;
  Values values;

  std::size_t size() const { return value.size(); }
  bool operator==(const Batch& other) const {
    const auto bits = [](const std::vector<double>& v) {
      std::vector<std::uint64_t> out;
      for (const double x : v) out.push_back(std::isnan(x) ? 0 : std::bit_cast<std::uint64_t>(x));
      return out;
    };
    return bits(value) == bits(other.value) && bits(error) == bits(other.error) && spent == other.spent &&
           why == other.why;
  }
};

Arguments arguments_of(const std::string& formula, const std::string& limits, const std::string& parameters,
                       int n, Arguments::Words words = {}, std::map<std::string, ArrayView> arrays = {}) {
  words["FORMULA"] = formula;
  words["LIMITS"] = limits;
  words["parameters"] = parameters;
  if (n > 0) words["n"] = std::to_string(n);
  return {operation().signature, Element::f64, std::move(arrays), words};
}

Batch ran(Arguments arguments,
          const Request& request = {.device = "cpu", .variant = "simd", .cached = false}) {
  const Outcome outcome = run(operation(), arguments, request);
  Batch out;
  const auto take = [&](const char* name, auto& to) {
    const ArrayView& view = outcome.outputs.at(name).view();
    for (std::int64_t i = 0; i < view.count(); ++i)
      to.push_back(static_cast<typename std::remove_reference_t<decltype(to)>::value_type>(load_as_double(
          view.element,
          static_cast<const char*>(view.data) + i * static_cast<std::int64_t>(size_of(view.element)))));
  };
  take("integrals", out.value);
  take("errors", out.error);
  take("evaluations", out.spent);
  take("reasons", out.why);
  out.values = outcome.values;
  return out;
}

// The verdict of the program's check.
Verdict verdict_of(Arguments arguments, Batch& batch) {
  arguments.set_array("integrals", batch.value.data());
  arguments.set_array("errors", batch.error.data());
  arguments.set_array("evaluations", batch.spent.data());
  arguments.set_array("reasons", batch.why.data());
  return verify(operation(), arguments);
}

std::string number(double x) { return std::isinf(x) ? (x < 0 ? "-inf" : "inf") : fmt::format("{:.17g}", x); }

// The tolerance is met or another reason is given; and the error bound holds.
void expect_honest(const Batch& batch, std::size_t i, double exact, double relative,
                   const std::string& what) {
  const double off = std::fabs(batch.value[i] - exact);
  if (batch.why[i] != converged) return;
  EXPECT_LE(off, batch.error[i] + 4e-16 * std::fabs(exact)) << what;
  EXPECT_LE(off, relative * std::fabs(exact) * 1.0001) << what;
}

struct Family {
  const char *formula, *limits, *parameters;
  std::function<double(double)> exact;
  double from, to;
  double share = 1;  // share of the integrals that must converge
};

TEST(Batch, KnownIntegralsAreRightOrReportedAsUnconverged) {
  int all = 0, met = 0;
  for (const double relative : {1e-4, 1e-10})
    for (const auto& known : test::given_integrals()) {
      const Batch batch = ran(arguments_of("p*(" + known.formula + ")",
                                           number(known.range.lower) + " " + number(known.range.upper),
                                           "p=-2:3", 3, {{"relative", number(relative)}}));
      for (std::size_t i = 0; i < 3; ++i) {
        const double p = -2 + 2.5 * static_cast<double>(i);
        expect_honest(batch, i, p * known.exact, relative, fmt::format("{} by {}", known.formula, relative));
        ++all;
        met += batch.why[i] == converged;
      }
    }
  EXPECT_GE(all, 180);
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

// Integrands that decrease only as a power of the logarithm leave more than any one halving moves.
TEST(Batch, SlowlyDecayingTailsAreNotTruncated) {
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
    for (const double relative : {0.3, 0.1, 0.01}) {
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

// Jumps at places that cannot be solved for from the text.
TEST(Batch, HiddenJumpsAreNeverMissed) {
  constexpr int n = 800;
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

// Kinks, where a single pair of rules would often see nothing.
TEST(Batch, HiddenKinksAreNeverMissed) {
  constexpr int n = 300;
  for (const double relative : {1e-3, 1e-5, 1e-8}) {
    const Batch batch = ran(
        arguments_of("abs(x+exp(x)-k-exp(k))", "0 1", "k=0.001:0.999", n, {{"relative", number(relative)}}));
    for (std::size_t i = 0; i < n; ++i) {
      const double k = 0.001 + 0.998 * static_cast<double>(i) / (n - 1);
      EXPECT_EQ(batch.why[i], converged);
      const auto area = [](double x) { return x * x / 2 + std::exp(x); };
      const double value = k + std::exp(k);
      expect_honest(batch, i, value * (2 * k - 1) + area(0) + area(1) - 2 * area(k), relative,
                    fmt::format("k = {}", k));
    }
  }
}

// Far out, a cell's points do not resolve the oscillations, and two or three of 21 samples count: all four
// differences may be small by chance, and so may the error, although the value is arbitrary.
TEST(Batch, DecayingOscillationsAreNotMissed) {
  const std::vector<Family> families = {
      {"cos(k*x)*exp(-x)", "0 inf", "k=0.5:20", [](double k) { return 1 / (1 + k * k); }, 0.5, 20},
      {"exp(x)*cos(k*x)", "-inf 1", "k=0.5:20",
       [](double k) { return std::exp(1.0) * (k * std::sin(k) + std::cos(k)) / (1 + k * k); }, 0.5, 20, 0.98},
      {"(1+cos(k*x))*exp(-x)", "0 inf", "k=0.5:60", [](double k) { return 1 + 1 / (1 + k * k); }, 0.5, 60}};
  constexpr int n = 100;
  for (const Family& family : families)
    for (const double relative : {1e-4, 1e-8}) {
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

// The four null rules are 0 for any polynomial up to their degree and nonzero for the next even one.
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

TEST(Batch, ReportsADistinctReasonForEachFailure) {
  const auto why = [](const char* formula, const char* limits, Arguments::Words words = {}) {
    const Batch batch = ran(arguments_of(formula, limits, "k=1", 1, std::move(words)));
    EXPECT_EQ(std::get<std::string>(batch.values.at("reason")) == "converged", batch.why[0] == converged);
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

// Dozens of jumps and kinks, most of them between the outermost points of two cells: the error bound holds
// for unconverged integrals, too. With two teeth in a cell, all differences may be small by chance: one in
// hundreds is off by half more.
TEST(Batch, ErrorBoundsHoldWithoutConvergence) {
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

TEST(Batch, ReportsNoErrorWithoutAnEstimate) {
  const Batch divergent = ran(arguments_of("k/x", "0 1", "k=1", 1));
  EXPECT_TRUE(std::isinf(divergent.error[0]));
  const Batch undefined = ran(arguments_of("sqrt(x-k)", "0 1", "k=0.5:2", 2));
  EXPECT_TRUE(std::isnan(undefined.value[0]) && std::isinf(undefined.error[0]));
  // The cap is reached before the second subrange is sampled.
  const Batch capped = ran(arguments_of("abs(x-k)", "0 1", "k=0.5", 1, {{"most-evaluations", "42"}}));
  EXPECT_EQ(capped.why[0], evaluations);
  EXPECT_TRUE(std::isinf(capped.error[0]));
  EXPECT_LE(capped.spent[0], 42);
}

TEST(Batch, ReversedLimitsNegateTheIntegral) {
  const Batch up = ran(arguments_of("exp(x)", "0 k", "k=1:2", 4)),
              down = ran(arguments_of("exp(x)", "k 0", "k=1:2", 4));
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(up.value[i], -down.value[i]);
}

// Every rung of our own gives the same bits on every device, in launches of many shapes.
TEST(Batch, EveryRungGivesTheSameBits) {
  const std::vector<Arguments> problems = {
      arguments_of("sqrt(x)*cos(k*x)", "0 3", "k=0.5:20", 75, {{"relative", "1e-9"}}),
      arguments_of("if(x*x<k,1,x)", "-1 k", "k=-0.5:1", 41),
      arguments_of("x^k*log(1+w)", "0 inf", "k=-2:0.5,w=1:2", 33, {{"most-evaluations", "4200"}}),
      arguments_of("sqrt(abs(x-k)*abs(x-w))", "0 1", "k=0.1:0.9,w=0.9:0.2", 20, {{"points", "(k+w)/2"}}),
      arguments_of("x+exp(-abs(x-0.3)/d)/d+(abs(x-d)<d*d)/d", "0 1", "d=1e-9:0.5:log", 17,
                   {{"relative", "1e-6"}}),
      arguments_of("exp(-(x-c)^2)+1/x", "c w", "c=1:3000,w=1:1e9", 9),
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

TEST(Batch, RefusesInvalidTexts) {
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

// A known error: the check of this operation must find it.
TEST(Batch, VerifyFindsAWrongIntegral) {
  const Arguments arguments = arguments_of("exp(-k*x)", "0 inf", "k=1:2", 5);
  Batch batch = ran(arguments);
  EXPECT_TRUE(verdict_of(arguments, batch).passed);
  batch.value[3] *= 1 + 3e-10;
  EXPECT_FALSE(verdict_of(arguments, batch).passed);
  batch.value[3] = NAN;
  EXPECT_FALSE(verdict_of(arguments, batch).passed);
}

// Integrands that decrease hardly faster than 1/x have a part of their integral beyond 1e50, and the check's
// rule samples there.
TEST(Batch, VerifyAcceptsSlowlyDecayingTails) {
  for (const char* formula : {"1/(1+x^a)", "1/(1+x)^a"}) {
    const Arguments arguments = arguments_of(formula, "0 inf", "a=1.04:1.2", 4);
    Batch batch = ran(arguments);
    const Verdict verdict = verdict_of(arguments, batch);
    EXPECT_TRUE(verdict.passed) << formula << ": " << describe(verdict);
  }
}

// The integral from 0 to x of steps of width w.
double of_floor(double x, double w) {
  const double n = std::floor(x / w);
  return w * n * (n - 1) / 2 + n * (x - n * w);
}
double of_ceil(double x, double w) { return of_floor(x, w) + x; }
double of_round(double x, double w) {
  const double n = std::floor(x / w + 0.5);
  return w * n * (n - 1) / 2 + n * (x - (n - 0.5) * w);
}
double of_saw(double x, double w) { return x * x / 2 - w * of_floor(x, w); }

struct Stairs {
  const char *formula, *parameters;
  double to, from_w, to_w;
  double (*exact)(double to, double w);
};

const Stairs stairs[] = {
    {"floor(x*w)", "w=5:500", 1, 5, 500, [](double to, double w) { return of_floor(to, 1 / w); }},
    {"floor(x*w)", "w=5:50", 20, 5, 50, [](double to, double w) { return of_floor(to, 1 / w); }},
    {"floor(x/w)", "w=0.02:0.6", 20, 0.02, 0.6, of_floor},
    {"round(x/w)", "w=0.005:0.17", 5, 0.005, 0.17, of_round},
    {"ceil(x/w)", "w=0.003:0.3", 3, 0.003, 0.3, of_ceil},
    {"trunc(x/w)+1", "w=0.003:0.3", 5, 0.003, 0.3, [](double to, double w) { return of_floor(to, w) + to; }},
    {"floor(x/w)*w+1", "w=0.01:0.9", 20, 0.01, 0.9,
     [](double to, double w) { return w * of_floor(to, w) + to; }},
    {"fmod(x,w)+0.2988", "w=0.02:0.5", 5, 0.02, 0.5,
     [](double to, double w) { return of_saw(to, w) + 0.2988 * to; }},
    {"abs(sin(x/w))+0.05", "w=0.004:0.4", 5, 0.004, 0.4,
     [](double to, double w) {
       const double n = std::floor(to / w / std::numbers::pi);
       return w * (2 * n + 1 - std::cos(to / w - n * std::numbers::pi)) + 0.05 * to;
     }},
    {"if(fmod(x,2*w)<w,1,2)", "w=0.003:0.2", 3, 0.003, 0.2, [](double to, double w) {
       const double n = std::floor(to / (2 * w)), left = to - 2 * n * w;
       return 2 * to - n * w - std::fmin(left, w);
     }}};

TEST(Jumps, StaircasesAndSawsConvergeToTheRightValue) {
  constexpr int n = 40;
  int claims = 0;
  for (const Stairs& of : stairs)
    for (const char* const relative : {"1e-2", "1e-3", "1e-4"}) {
      const Batch batch = ran(
          arguments_of(of.formula, fmt::format("0 {}", of.to), of.parameters, n, {{"relative", relative}}));
      for (std::size_t i = 0; i < batch.size(); ++i) {
        const double w = of.from_w + (of.to_w - of.from_w) * (static_cast<double>(i) / (n - 1));
        expect_honest(batch, i, of.exact(of.to, w), std::stod(relative),
                      fmt::format("{} w = {}", of.formula, w));
        claims += batch.why[i] == converged;
      }
    }
  EXPECT_GE(claims, 400);
}

// The check's points are symmetric, and so nearly are these steps if w is nearly an integer.
TEST(Jumps, VerifyAcceptsThem) {
  for (const auto& [formula, parameters] :
       {std::pair("floor(x*w)", "w=5:500"), {"ceil(x*w)", "w=5:500"}, {"round(x*w)", "w=5.01:75.01"}}) {
    const Arguments arguments = arguments_of(formula, "0 1", parameters, 34, {{"relative", "1e-3"}});
    Batch batch = ran(arguments);
    const Verdict verdict = verdict_of(arguments, batch);
    EXPECT_TRUE(verdict.passed) << formula << ": " << describe(verdict);
  }
}

// Errors are multiplied only if the formula has parts that jump with the variable.
TEST(Jumps, AreRecognisedInTheFormula) {
  const auto caution = [](const std::string& formula) {
    return batch_options_of(arguments_of(formula, "0 1", "w=0.2:0.7", 3)).caution;
  };
  for (const char* const jumps : {"floor(x*w)", "ceil(w*sin(x))", "round(x/w)", "trunc(x^2*w)", "fmod(x,w)",
                                  "fmod(w,x+1)", "abs(sin(x/w))", "max(sin(x/w),0)", "sign(sin(x/w))",
                                  "(sin(x/w)>0)", "if(x*x<w,1,0)", "if(x*x-w,1,0)", "w*(cos(x)>0 and x>0.1)"})
    EXPECT_GT(caution(jumps), 1) << jumps;
  for (const char* const smooth : {"x*floor(10*w)", "sin(x*w)", "abs(x-w)", "(x<w)", "abs(x-w)<0.1",
                                   "if(x<w,x,w)", "sign(x-w)", "max(x,w)", "fmod(3,w)*x", "x>w and x<2*w"})
    EXPECT_EQ(caution(smooth), 1) << smooth;
  // More linear zeros than the maximum of cuts: some are not cut at.
  std::string many = "(x<w)";
  for (int k = 1; k < 14; ++k) many += fmt::format("+(x<w*{})", 0.05 * k);
  EXPECT_GT(caution(many), 1);
}

}  // namespace
}  // namespace tessera::integrate_batch
