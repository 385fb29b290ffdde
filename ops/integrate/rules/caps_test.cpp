// SPDX-License-Identifier: Apache-2.0
// Caps on time and evaluations: every rule keeps them, and what it has by then is its value.
#include <gtest/gtest.h>
#include <cmath>
#include <thread>
#include <utility>
#include "ops/integrate/rules/by_name.hpp"
#include "ops/integrate/rules/cubature.hpp"
#include "ops/integrate/rules/deadline.hpp"
#include "ops/integrate/rules/formula_integrand.hpp"

namespace tessera::quadrature {
namespace {

constexpr double most_seconds = 0.4;

double overslept = 0;  // seconds: what a busy machine adds is no rule's

// A callable that waits, so that what else the machine does counts little.
void wait_for(std::size_t values, int microseconds) {
  const Deadline clock(infinity);
  const auto wanted = std::chrono::microseconds(microseconds) * values;
  std::this_thread::sleep_for(wanted);
  overslept += clock.spent() - std::chrono::duration<double>(wanted).count();
}

void expect_kept(const Deadline& clock, const std::string& rule) {
  EXPECT_LE(clock.spent() - std::exchange(overslept, 0), 1.2 * most_seconds + 0.1) << rule;
}

TEST(Caps, OnTimeAreKeptByRulesOfOneVariable) {
  const auto slow = [](auto f) -> Integrand {
    return {[f](std::span<const double> x, std::span<const double>, std::span<double> y) {
      wait_for(x.size(), 100);
      for (std::size_t i = 0; i < x.size(); ++i) y[i] = f(x[i]);
    }};
  };
  const Integrand wave = slow([](double x) { return 1 + std::sin(1e5 * x); });
  for (const char* rule : {"auto", "richardson", "simpson", "gauss_kronrod", "tanh_sinh"}) {
    const Deadline clock(most_seconds);
    const Answer answer = by_name(rule, wave, {0, 1}, {.relative = 1e-13}, {.seconds = most_seconds}, {});
    expect_kept(clock, rule);
    EXPECT_FALSE(answer.converged()) << rule;
  }
  const Integrand tail = slow([](double x) { return std::cos(x) / std::sqrt(1 + x); });
  for (const char* rule : {"auto", "epsilon", "oscillating"}) {
    const Deadline clock(most_seconds);
    const Answer answer =
        by_name(rule, tail, {0, infinity}, {.relative = 1e-13}, {.seconds = most_seconds}, {});
    expect_kept(clock, rule);
    EXPECT_EQ(answer.reason, Reason::time) << rule << ": " << words(answer);
  }
}

TEST(Caps, OnTimeAreKeptByRulesOfSeveralVariables) {
  const ManyValues slow = [](std::span<const double> x, std::size_t count, std::span<double> y) {
    wait_for(count, 10);
    for (std::size_t i = 0; i < count; ++i) y[i] = 1 + std::sin(1e4 * x[i] * x[count + i]);
  };
  for (const char* rule : {"auto", "genz_malik", "quasi_random", "vegas", "tanh_sinh"}) {
    const Deadline clock(most_seconds);
    const Answer answer =
        by_name(rule, slow, Box{{{0, 1}, {0, 1}}}, {.relative = 1e-9}, {.seconds = most_seconds}, {}, 1, 1);
    expect_kept(clock, rule);
    EXPECT_FALSE(answer.converged()) << rule;
  }
}

// The first iteration alone would take longer: it is not finished, and tells nothing.
TEST(Caps, OnTimeStopAnIterationOfVegas) {
  const ManyValues slow = [](std::span<const double>, std::size_t count, std::span<double> y) {
    wait_for(count, 200);
    std::fill(y.begin(), y.end(), 1.0);
  };
  const Deadline clock(most_seconds);
  const Answer answer =
      by_name("vegas", slow, Box{{{0, 1}, {0, 1}}}, {.relative = 1e-9}, {.seconds = most_seconds}, {}, 1, 1);
  expect_kept(clock, "vegas");
  EXPECT_EQ(answer.reason, Reason::time) << words(answer);
  EXPECT_GT(answer.evaluations, 0);
  EXPECT_TRUE(std::isinf(answer.error()));
}

TEST(Caps, LeaveTheBestValue) {
  const double exact = 1.00097876;  // 1 + (γ + ln 10⁴ - Ci 10⁴)/10⁴
  const formula::Tree tree = formula::parse("1+sin(1e4*x*y)");
  const std::vector<std::string> variables{"x", "y"};
  const Box box{{{0, 1}, {0, 1}}};
  for (const char* rule : {"auto", "genz_malik", "quasi_random", "vegas", "tanh_sinh"})
    for (const std::int64_t most : {1000, 30'000, 300'000}) {
      const Answer answer = by_name(rule, many_values_of(tree, variables), box, {.relative = 1e-9},
                                    {.evaluations = most, .seconds = 20}, {}, 1, 1);
      EXPECT_TRUE(std::isfinite(answer.value)) << rule << " of " << most;
      EXPECT_TRUE(std::fabs(answer.value - exact) <= answer.error()) << rule << " of " << most;
      EXPECT_EQ(answer.reason, Reason::evaluations) << rule << " of " << most << ": " << words(answer);
    }
}

}  // namespace
}  // namespace tessera::quadrature
