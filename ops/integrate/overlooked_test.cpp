// SPDX-License-Identifier: Apache-2.0
// Integrals that strangers found claimed wrongly, or lost, by the command: bells without limits, singular
// points, oblique kinks, bumps on a background, short ranges. Exact values are closed forms.
#include <gtest/gtest.h>
#include <cmath>
#include <numbers>
#include "tessera/core/operation.hpp"
#include "tessera/run/run.hpp"

namespace tessera::integration {
namespace {

constexpr double pi = std::numbers::pi;

struct Told {
  double value, error;
  std::string reason;
};

Told told(const std::string& formula, const std::string& limits, Arguments::Words more = {}) {
  more["FORMULA"] = formula;
  more["LIMITS"] = limits;
  Arguments arguments(find_operation("integrate")->signature, Element::f64, {}, std::move(more));
  const Outcome outcome =
      run(*find_operation("integrate"), arguments, {.device = "cpu:threads=2", .cached = false});
  return {load_as_double(Element::f64, arguments.array("integral").data),
          std::get<double>(outcome.values.at("error")), std::get<std::string>(outcome.values.at("reason"))};
}

void expect_claimed(const Told& answer, double exact, const std::string& what) {
  EXPECT_EQ(answer.reason, "converged") << what << ": " << answer.value << " +- " << answer.error;
  EXPECT_LE(std::fabs(answer.value - exact), answer.error + 4e-16 * std::fabs(exact))
      << what << ": " << answer.value;
}

const std::string plane = "x=[-inf,inf] y=[-inf,inf]", space = plane + " z=[-inf,inf]",
                  square = "x=[0,1] y=[0,1]", cube = square + " z=[0,1]";

TEST(Overlooked, BellsWiderThanTheirCentreIsFar) {
  expect_claimed(told("exp(-((x-10)/80)^2-y^2)", plane), 80 * pi, "2");
  expect_claimed(told("exp(-((x-2.3)/8)^2-y^2)", plane), 8 * pi, "2");
  expect_claimed(told("exp(-((x-10)/80)^2-y^2-z^2)", space, {{"relative", "1e-4"}}), 80 * std::pow(pi, 1.5),
                 "3");
}

// ∫ r^(2p)·exp(-a·r^(2q)) over space = 4π/(2q)·Γ(s)/a^s, s = (3 + 2p)/(2q).
TEST(Overlooked, SingularPointsWithoutLimits) {
  const double p = -0.2221, q = 1.019, a = 0.1162, s = (3 + 2 * p) / (2 * q);
  expect_claimed(
      told("(x^2+y^2+z^2)^(-0.2221)*exp(-0.1162*(x^2+y^2+z^2)^1.019)", space, {{"relative", "1e-4"}}),
      4 * pi / (2 * q) * std::tgamma(s) / std::pow(a, s), "3");
}

TEST(Overlooked, ANarrowBellBesideAWideOne) {
  const Told answer = told(
      "1.033*exp(-(((x-10.763)/0.454)^2+((y-2.8218)/4.12)^2+((z+4.6697)/2.03)^2))+"
      "1.726*exp(-(((x+8.6381)/8.84)^2+((y+15.674)/4.33)^2+((z-12.302)/9.11)^2))",
      space, {{"relative", "1e-3"}});
  const double exact = std::pow(pi, 1.5) * (1.033 * 0.454 * 4.12 * 2.03 + 1.726 * 8.84 * 4.33 * 9.11);
  EXPECT_LE(std::fabs(answer.value - exact), answer.error) << answer.value;
}

// None of a region's points know of what is long, thin and oblique; π^1.5, for its matrix has the determinant
// -1.
TEST(Overlooked, AnObliqueBellByName) {
  const Told answer =
      told("exp(-((2*x+y)^2+(y-3*z)^2+(x+z)^2))", space, {{"relative", "1e-4"}, {"rule", "genz_malik"}});
  EXPECT_NE(answer.reason, "converged") << answer.value;
  EXPECT_LE(std::fabs(answer.value - std::pow(pi, 1.5)), answer.error);
}

TEST(Overlooked, KinksAlongObliqueLines) {
  for (const char* relative : {"1e-2", "1e-3", "1e-4"}) {
    expect_claimed(told("max(0,0.978-x-y)", square, {{"relative", relative}}), std::pow(0.978, 3) / 6,
                   relative);
    expect_claimed(told("x*max(0,0.978-x-y)", square, {{"relative", relative}}), std::pow(0.978, 4) / 24,
                   relative);
    expect_claimed(told("max(0,0.24-x^2-y^2)", square, {{"relative", relative}}), pi / 8 * 0.24 * 0.24,
                   relative);
  }
}

// A plain sum of tens of thousands of rows lost 1e-14 of it.
TEST(Overlooked, ManySmallTermsOfThreeVariables) {
  const auto one = [](double a, double at) { return (2 - std::exp(-a * at) - std::exp(-a * (1 - at))) / a; };
  const Told answer = told("exp(-(1.931*abs(x-0.44024)+8.253*abs(y-0.51744)+1.694*abs(z-0.3989)))", cube);
  const double exact = one(1.931, 0.44024) * one(8.253, 0.51744) * one(1.694, 0.3989);
  expect_claimed(answer, exact, "3");
  EXPECT_NEAR(answer.value, exact, 2e-15 * exact);
}

// √π/2·w·(erf((1-p)/w) + erf(p/w)) of each axis.
TEST(Overlooked, BumpsThatAreWideOnOneAxis) {
  const auto one = [](double at, double w) {
    return std::sqrt(pi) / 2 * w * (std::erf((1 - at) / w) + std::erf(at / w));
  };
  const double bump = 2.101 * one(0.8301, 0.1306) * one(0.5219, 0.006853) * one(0.2669, 0.04886);
  const std::string formula =
      "exp(x+y+z)+2.101*exp(-(((x-0.8301)/0.1306)^2+((y-0.5219)/0.006853)^2+((z-0.2669)/0.04886)^2))";
  const Told once = told(formula, cube, {{"relative", "1e-5"}}),
             again = told(formula, cube, {{"relative", "1e-5"}});
  expect_claimed(once, std::pow(std::numbers::e - 1, 3) + bump, formula);
  EXPECT_EQ(once.value, again.value) << "what the text shows is kept";
  EXPECT_EQ(once.error, again.error);
}

// atan(b) - atan(1), computed from the difference.
TEST(Overlooked, ShortRangesFarFromZero) {
  for (const char* to : {"1.006303", "1.00735642", "1.005", "1.003"}) {
    const double b = std::stod(to);
    expect_claimed(told("1/(1+x^2)", std::string("1 ") + to), std::atan((b - 1) / (1 + b)), to);
  }
}

TEST(Overlooked, SwingsThatDoNotFadeHaveAnAbelSum) {
  for (const char* rule : {"epsilon", "oscillating"}) {
    EXPECT_NEAR(told("sin(x)", "0 inf", {{"rule", rule}}).value, 1, 1e-9) << rule;
    EXPECT_NEAR(told("sin(2*x)", "0 inf", {{"rule", rule}}).value, 0.5, 1e-9) << rule;
    EXPECT_TRUE(std::isinf(told("sin(x)", "0 inf", {{"rule", rule}}).error)) << rule;
  }
  EXPECT_TRUE(std::isnan(told("sin(x)", "0 inf").value));
}

TEST(Overlooked, StripsOfAPeak) {
  const double w = 0.0723, exact = w * (std::atan((2 - 1.5945) / w) + std::atan(1.5945 / w));
  const Told answer = told("1/(1+((x-1.5945)/0.0723)^2)", "0 2", {{"strips", "1000"}, {"relative", "1e-4"}});
  EXPECT_LE(std::fabs(answer.value - exact), answer.error) << answer.value;
}

}  // namespace
}  // namespace tessera::integration
