// SPDX-License-Identifier: Apache-2.0
// What fades more slowly than any power, or swings and drifts, may leave more than was seen.
#include <gtest/gtest.h>
#include <cmath>
#include <limits>
#include <numbers>
#include "ops/integrate/rules/by_name.hpp"
#include "ops/integrate/rules/drift.hpp"
#include "ops/integrate/rules/fading.hpp"
#include "ops/integrate/rules/formula_integrand.hpp"

namespace tessera::quadrature {
namespace {

struct Tried {
  const char* text;
  Range range;
  double relative, exact;  // infinite: the integral is
};

void expect_no_wrong_claim(const char* rule, const Tried& t) {
  const Integrand f = integrand_of(formula::parse(t.text), "x", t.range);
  const Answer answer = by_name(rule, f, t.range, {.relative = t.relative}, {}, {});
  const std::string what = std::string(t.text) + " by " + rule + ": " + words(answer);
  if (std::isfinite(t.exact)) {
    EXPECT_FALSE(std::fabs(answer.value - t.exact) > answer.error())
        << what << " " << answer.value << " +- " << answer.error();
  } else {
    EXPECT_FALSE(answer.converged()) << what << " " << answer.value;
    EXPECT_TRUE(std::isinf(answer.error())) << what << " " << answer.error();
  }
}

TEST(Fading, ASlopeThatWeakensLeavesMore) {
  // exp(-s/10) and s^-p, from s = 50 to 100.
  EXPECT_EQ(lasting_slope(0.1, 0.1, 50), 0.1);
  for (const double p : {1.6, 2.0, 5.0})
    EXPECT_NEAR(lasting_slope(p / 50, p / 100, 50), (p - 1) / 100, 1e-12);
  for (const double p : {0.5, 1.0, 1.2}) EXPECT_EQ(lasting_slope(p / 50, p / 100, 50), 0);
  EXPECT_EQ(lasting_slope(nothing, nothing, 50), 0);
}

TEST(Fading, PowersOfTheLogarithm) {
  const double l3 = std::log(3.0), l20 = std::log(20.0);
  for (const char* rule : {"auto", "tanh_sinh", "gauss_kronrod"})
    for (const Tried& t : {Tried{"1/(x*log(x)*log(log(x)))", {3, infinity}, 0.2, infinity},
                           Tried{"1/(x*log(x))", {3, infinity}, 0.7, infinity},
                           Tried{"-1/(x*log(-x))", {-infinity, -3}, 0.7, infinity},
                           Tried{"1/(x*log(1/x)*log(log(1/x)))", {0, 0.05}, 0.5, infinity},
                           Tried{"1/(x*log(x)^1.01)", {3, infinity}, 0.7, 100 * std::pow(l3, -0.01)},
                           Tried{"1/(x*log(x)^1.1)", {3, infinity}, 0.5, 10 * std::pow(l3, -0.1)},
                           Tried{"1/(x*log(x)^1.5)", {3, infinity}, 0.2, 2 / std::sqrt(l3)},
                           Tried{"1/(x*log(x)^2)", {3, infinity}, 0.01, 1 / l3},
                           Tried{"1/(x*log(1/x)^1.2)", {0, 0.05}, 0.5, 5 * std::pow(l20, -0.2)},
                           Tried{"1/(x*log(1/x)^2)", {0, 0.05}, 0.01, 1 / l20},
                           Tried{"x^-1.01", {3, infinity}, 0.2, 100 * std::pow(3, -0.01)}})
      expect_no_wrong_claim(rule, t);
}

// A pair of Gauss and Kronrod differs by far less than it is off where f has no limit.
TEST(Fading, StrongEndsByGaussAndKronrod) {
  for (const double a : {0.5, 0.8, 0.9, 0.95})
    for (const double relative : {0.2, 1e-2, 1e-4, 1e-8}) {
      const std::string power = "^-" + std::to_string(a);
      const double p = 1 - a;
      for (const auto& [text, exact] : {std::pair{"x", 1 / p}, std::pair{"(1-x)", 1 / p},
                                        std::pair{"abs(x-0.3)", (std::pow(0.3, p) + std::pow(0.7, p)) / p},
                                        std::pair{"abs(x-0.5)", 2 * std::pow(0.5, p) / p}})
        expect_no_wrong_claim("gauss_kronrod", {(text + power).c_str(), {0, 1}, relative, exact});
    }
  const Range unit_range{0, 1};
  const Answer answer = by_name("gauss_kronrod", integrand_of(formula::parse("x^-0.9"), "x", unit_range),
                                unit_range, {.relative = 1e-8}, {}, {});
  EXPECT_TRUE(answer.converged()) << words(answer);
}

// Terms that only alternate leave nothing behind; a drift of 1/k^2 leaves 1/k, one of 1/k has no limit.
TEST(Fading, DriftOfSwings) {
  const auto left = [](auto drift) {
    std::vector<double> terms;
    for (int k = 5; k < 84; ++k) terms.push_back((k % 2 == 0 ? 1.0 : -1.0) / k + drift(k));
    return drift_behind(terms);
  };
  EXPECT_LT(left([](double) { return 0.0; }), 1e-14);
  EXPECT_NEAR(left([](double k) { return 0.1 / (k * k); }), 2 * 0.1 / 84, 2 * 0.1 / 84 * 0.2);
  EXPECT_TRUE(std::isinf(left([](double k) { return 0.1 / k; })));
  EXPECT_TRUE(std::isinf(left([](double) { return 1e-3; })));
}

TEST(Fading, SwingsThatDrift) {
  const double log2 = std::numbers::ln2;
  for (const double relative : {1e-10, 1e-3, 1e-2})
    for (const Tried& t : {Tried{"j0(x)*j1(x)", {0, infinity}, relative, 0.5},
                           Tried{"(cos(x)-1/(1+x))/x", {0, infinity}, relative, -std::numbers::egamma},
                           Tried{"(cos(x)-exp(-x))/x", {0, infinity}, relative, 0},
                           Tried{"(cos(x)-cos(2*x))/x", {0, infinity}, relative, log2},
                           Tried{"sin(x)/x", {0, infinity}, relative, std::numbers::pi / 2}})
      for (const char* rule : {"auto", "epsilon"}) expect_no_wrong_claim(rule, t);
  for (const char* rule : {"auto", "epsilon", "oscillating"})
    expect_no_wrong_claim(rule, {"sin(x)*(2+sin(x))/x", {1, infinity}, 0.2, infinity});
}

}  // namespace
}  // namespace tessera::quadrature
