// SPDX-License-Identifier: Apache-2.0
// Integrals of formulas: the known ones from their texts, and what a text tells that values do not.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <random>
#include "ops/integrate/rules/auto.hpp"
#include "ops/integrate/rules/double_exponential.hpp"
#include "ops/integrate/rules/formula_integrand.hpp"
#include "ops/integrate/rules/integrands.hpp"
#include "tessera/core/error.hpp"

namespace tessera::quadrature {
namespace {

constexpr double pi = std::numbers::pi;

bool near(double value, double exact, double relative) {
  return std::fabs(value - exact) <= relative * std::fabs(exact);
}

Integrand read(const std::string& text, const Range& range) {
  return integrand_of(formula::parse(text), "x", range);
}
Answer integral(const std::string& text, const Range& range) { return automatic(read(text, range), range); }

TEST(Formula, KnownIntegralsFromTheirTexts) {
  std::size_t right = 0;
  for (const Known& known : known_integrals()) {
    const Answer answer = integral(known.text, known.range);
    const bool good = near(answer.value, known.exact, 1e-10);
    EXPECT_TRUE(good || !answer.converged())
        << known.id << " claims " << answer.value << " for " << known.exact;
    EXPECT_TRUE(answer.converged()) << known.id << ": " << words(answer);
    if (good && answer.converged()) ++right;
  }
  EXPECT_EQ(right, known_integrals().size());
}

TEST(Formula, PolynomialsKeepTheirDigitsAtAnEnd) {
  const Answer upper = integral("(1-x)^-0.8", {0, 1});
  EXPECT_TRUE(upper.converged() && near(upper.value, 5, 1e-12)) << words(upper);
  const Answer lower = integral("(x-2)^-0.8", {2, 3});
  EXPECT_TRUE(lower.converged() && near(lower.value, 5, 1e-12)) << words(lower);
  // One part is known from the distance, the other is not: nothing may be claimed.
  EXPECT_FALSE(integral("1/sqrt(1-x)/(tgamma(x)-1)^0.2", {0, 1}).converged());
}

TEST(Formula, TellsWhereItBreaks) {
  const Features jump = features_of(formula::parse("x>=0.3"), "x", {0, 1});
  ASSERT_EQ(jump.breaks.size(), 1);
  EXPECT_NEAR(jump.breaks[0], 0.3, 1e-16);
  const Features steps = features_of(formula::parse("floor(x)+abs(x-1/3)"), "x", {0.5, 3.5});
  EXPECT_EQ(steps.breaks, (std::vector<double>{1, 2, 3}));
  const Features kink = features_of(formula::parse("max(sin(x),cos(x))"), "x", {0, 2});
  ASSERT_EQ(kink.breaks.size(), 1);
  EXPECT_NEAR(kink.breaks[0], pi / 4, 1e-15);
  EXPECT_TRUE(features_of(formula::parse("abs(sin(1e4*x))"), "x", {0, 1}).breaks.empty());
}

TEST(Formula, ShowsNeedlesThatNoProbeWouldMeet) {
  for (const char* sharpness : {"1e4", "1e6", "1e9"}) {
    const std::string text = std::string("1+exp(-((x-0.7123)*") + sharpness + ")^2)";
    const Answer answer = integral(text, {0, 1});
    EXPECT_TRUE(answer.converged()) << text << ": " << words(answer);
    EXPECT_TRUE(near(answer.value, 1 + std::sqrt(pi) / std::stod(sharpness), 1e-10)) << text;
  }
  const Answer turned = integral("1+exp(-1e14*(x^2-x/2+1/16))", {0, 1});
  EXPECT_TRUE(turned.converged() && near(turned.value, 1 + 1e-7 * std::sqrt(pi), 1e-10)) << turned.value;
  const Answer box = integral("(x>0.7123 and x<0.7124) ? 1 : 0", {0, 1});
  EXPECT_TRUE(box.converged() && near(box.value, 1e-4, 1e-10)) << box.value;
}

// Families of integrals with known values, at random places and widths: an answer may be refused, not wrong.
TEST(Formula, RandomFamiliesAreNeverClaimedWrongly) {
  std::mt19937_64 bits(7);
  const auto even = [&](double from, double to) {
    return std::uniform_real_distribution<double>(from, to)(bits);
  };
  const auto size = [&](double from, double to) { return std::exp(even(std::log(from), std::log(to))); };
  int right = 0, asked = 0;
  const auto expect = [&](const std::string& text, const Range& range, double exact) {
    const Answer answer = integral(text, range);
    ++asked;
    if (!answer.converged()) return;
    ++right;
    EXPECT_TRUE(near(answer.value, exact, 1.1e-10)) << text << ": " << answer.value << " for " << exact;
  };
  for (int i = 0; i < 15; ++i) {
    const double m = even(0, 1), w = size(1e-7, 1), p = even(-0.9, 3), k = size(1, 200), t = even(1.05, 6);
    const double turns = std::floor(k / pi);
    expect(fmt::format("1/(1+((x-{:.17g})/{:.17g})^2)", m, w), {0, 1},
           w * (std::atan((1 - m) / w) + std::atan(m / w)));
    expect(fmt::format("0.1+exp(-((x-{:.17g})/{:.17g})^2)", m, w), {0, 1},
           0.1 + w * std::sqrt(pi) / 2 * (std::erf((1 - m) / w) + std::erf(m / w)));
    expect(fmt::format("abs(x-{:.17g})^({:.17g})", m, p), {0, 1},
           (std::pow(m, p + 1) + std::pow(1 - m, p + 1)) / (p + 1));
    expect(fmt::format("(1-x)^({:.17g})", p), {0, 1}, 1 / (p + 1));
    expect(fmt::format("x<{:.17g}", m), {0, 1}, m);
    expect(fmt::format("abs(sin({:.17g}*x))", k), {0, 1}, (2 * turns + 1 - std::cos(k - turns * pi)) / k);
    expect(fmt::format("exp(-((x-({:.17g}))/{:.17g})^2)", 2000 * (m - 0.5), k), {-infinity, infinity},
           k * std::sqrt(pi));
    expect(fmt::format("x^(-{:.17g})", t), {1, infinity}, 1 / (t - 1));
    expect(fmt::format("sin({:.17g}*x)/x", k), {0, infinity}, pi / 2);
    expect(fmt::format("exp(-x)*cos({:.17g}*x)", k / 20), {0, infinity}, 1 / (1 + k * k / 400));
  }
  EXPECT_GE(right, asked * 8 / 10);
}

TEST(Formula, ConstantsNeedNoPoints) {
  const Answer answer = integral("2", {0, 3});
  EXPECT_TRUE(answer.converged());
  EXPECT_EQ(answer.value, 6);
  EXPECT_EQ(answer.evaluations, 0);
  EXPECT_TRUE(integral("0", {0, infinity}).converged());
  EXPECT_EQ(integral("1", {0, infinity}).reason, Reason::diverges);
}

TEST(Formula, OtherVariablesAreNamed) { EXPECT_THROW(read("x*y", {0, 1}), Error); }

TEST(Formula, TheCircleTakesFewPoints) {
  const Range range{0, 1};
  const Answer answer = tanh_sinh(read("sqrt(1-x^2)", range), range, {.relative = 1e-12});
  EXPECT_TRUE(answer.converged() && near(answer.value, pi / 4, 1e-15));
  EXPECT_LE(answer.evaluations, 100);
}

}  // namespace
}  // namespace tessera::quadrature
