// SPDX-License-Identifier: Apache-2.0
// Integrals of formulas: the known ones from their texts, and what a text tells that values do not.
#include <gtest/gtest.h>
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
    if (good && answer.converged()) ++right;
  }
  EXPECT_GE(right, 33);  // log(1/x)^(-0.7): x alone does not tell enough near 1
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
  const Answer box = integral("(x>0.7123 and x<0.7124) ? 1 : 0", {0, 1});
  EXPECT_TRUE(box.converged() && near(box.value, 1e-4, 1e-10)) << box.value;
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
