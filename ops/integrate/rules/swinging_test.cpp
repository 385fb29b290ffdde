// SPDX-License-Identifier: Apache-2.0
// Integrands that swing: the rules find their integrals or say why not, and what they tell of the error is no
// less than it is, where nothing but rounding is left of the integral too.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <string>
#include "ops/integrate/rules/by_name.hpp"
#include "ops/integrate/rules/formula_integrand.hpp"
#include "tessera/formula/tree.hpp"

namespace tessera::quadrature {
namespace {

using Real = long double;
constexpr Real pi = 3.14159265358979323846264338327950288L;

struct Wave {
  std::string text;
  Range range;
  Real exact;
};

std::string number(Real k) {
  std::string out = std::to_string(static_cast<int>(k));
  return out;
}

// Waves of k swings or so over [from, to]; `to` as the double that the rule is given.
void add_waves(std::vector<Wave>& out, Real k, double to) {
  const std::string s = number(k);
  const Real b = to;
  out.push_back({"sin(" + s + "*x)", {0, to}, (1 - std::cos(k * b)) / k});
  out.push_back({"cos(" + s + "*x)", {0, to}, std::sin(k * b) / k});
  out.push_back({"x*sin(" + s + "*x)", {0, to}, std::sin(k * b) / (k * k) - b * std::cos(k * b) / k});
  out.push_back({"sin(" + s + "*x+1)", {0, to}, (std::cos(1.0L) - std::cos(k * b + 1)) / k});
  out.push_back(
      {"sin(" + s + "*x)^3", {0, to}, (2.0L / 3 - std::cos(k * b) + std::pow(std::cos(k * b), 3) / 3) / k});
  out.push_back({"1+cos(" + s + "*x)", {0, to}, b + std::sin(k * b) / k});
  out.push_back({"exp(-x)*cos(" + s + "*x)",
                 {0, to},
                 (1 + std::exp(-b) * (k * std::sin(k * b) - std::cos(k * b))) / (1 + k * k)});
}

std::vector<Wave> waves() {
  std::vector<Wave> out;
  for (const int k : {1, 2, 3, 7, 16, 20, 33, 50, 64, 100, 128, 200})
    for (const double to : {static_cast<double>(pi), static_cast<double>(2 * pi), 1.0, 10.0})
      add_waves(out, k, to);
  return out;
}

Answer answer(const std::string& rule, const Wave& wave) {
  const Integrand f = integrand_of(formula::parse(wave.text), "x", wave.range);
  return by_name(rule, f, wave.range, {}, {}, {});
}

class EveryRule : public testing::TestWithParam<const char*> {};

TEST_P(EveryRule, TellsNoLessThanTheErrorOfWaves) {
  int claims = 0;
  for (const Wave& wave : waves()) {
    const Answer told = answer(GetParam(), wave);
    const double off = static_cast<double>(std::fabs(told.value - wave.exact));
    EXPECT_LE(off, told.error()) << wave.text << " to " << wave.range.upper << ": " << words(told);
    EXPECT_TRUE(!told.converged() || off <= 1.0000001e-10 * std::fabs(wave.exact)) << wave.text;
    claims += told.converged();
  }
  EXPECT_GT(claims, 150);
}

INSTANTIATE_TEST_SUITE_P(Waves, EveryRule,
                         testing::Values("auto", "gauss_kronrod", "tanh_sinh", "simpson", "richardson"));

// Many swings: where a zero lies near an end, where they gather there, and where they are most of the work.
std::vector<Wave> long_waves() {
  std::vector<Wave> out;
  for (const double to : {400., 500., 550., 600., 700., 800., 1000., 1500., 2000., 3333., 10000.}) {
    const Real b = to;
    out.push_back({"sin(x)", {0, to}, 1 - std::cos(b)});
    out.push_back({"cos(x)", {-to, to}, 2 * std::sin(b)});
    out.push_back({"x*sin(x)", {0, to}, std::sin(b) - b * std::cos(b)});
    out.push_back({"sin(x)^2", {0, to}, b / 2 - std::sin(2 * b) / 4});
  }
  const int k = 200;
  out.push_back({"exp(-x)*cos(200*x)",
                 {0, 10},
                 (1 + std::exp(-10.0L) * (k * std::sin(10.0L * k) - std::cos(10.0L * k))) /
                     (1 + static_cast<Real>(k) * k)});
  return out;
}

TEST(LongWaves, ConvergeByAuto) {
  int claims = 0;
  for (const Wave& wave : long_waves()) {
    const Answer told = answer("auto", wave);
    const double off = static_cast<double>(std::fabs(told.value - wave.exact));
    const double allowed = 1.0000001e-10 * static_cast<double>(std::fabs(wave.exact));
    const std::string what = wave.text + " to " + std::to_string(wave.range.upper) + ": " + words(told);
    EXPECT_LE(off, told.error()) << what;
    if (told.converged()) EXPECT_LE(off, allowed) << what;
    else
      EXPECT_TRUE(told.reason == Reason::roundoff && told.error() <= 30 * allowed)
          << what << told.error() / allowed;
    EXPECT_TRUE(told.converged() || wave.text != "sin(x)") << what;
    claims += told.converged();
  }
  EXPECT_GE(claims, 38);  // of 45: the others are told what rounding leaves
}

// A millionth of the integral of |f| is left, or swings gather without end: no claim, but an error that
// serves.
TEST(LongWaves, TellWhatIsLeft) {
  const Wave rounded{"cos(1e5*x)", {0, 1}, std::sin(1e5L) / 1e5L};
  const Wave endless{"sin(1/x)", {0, 1}, 0.50406706190692837198985611774L};
  for (const Wave& wave : {rounded, endless}) {
    const Answer told = answer("auto", wave);
    EXPECT_LE(std::fabs(told.value - wave.exact), told.error()) << wave.text;
    EXPECT_LT(told.error(), 1e-5 * std::fabs(wave.exact)) << wave.text;
    EXPECT_FALSE(told.converged()) << wave.text << ": " << words(told);
  }
}

// By the rules that are asked for by name, too, a peak far out among the swings is part of the integral: of a
// formula wherever it stands, of a callable where probes meet it.
class LaterPeaks : public testing::TestWithParam<std::tuple<const char*, bool>> {};

TEST_P(LaterPeaks, AreNotClaimedAway) {
  const auto [rule, told_by_text] = GetParam();
  constexpr double swings = 0.62144962423581341;  // of sin(x)/(1+x)
  int claims = 0, cases = 0;
  for (const double place : {40., 300., 701.5, 1500.})
    for (const double width : {0.05, 1., 4., 20., 80.})
      for (const double height : {1., 0.02}) {
        if (!told_by_text && width < 0.04 * place) continue;
        const std::string text = fmt::format("sin(x)/(1+x)+{}*exp(-((x-{})/{})^2)", height, place, width);
        Integrand f = integrand_of(formula::parse(text), "x", {0, infinity});
        if (!told_by_text) f.features = {};
        const double bump = width * std::sqrt(static_cast<double>(pi)) / 2 * (1 + std::erf(place / width));
        const Answer told = by_name(rule, f, {0, infinity}, {}, {}, {});
        const double off = std::fabs(told.value - swings - height * bump);
        EXPECT_TRUE(off <= told.error() || !told.converged()) << text << ": " << words(told) << " " << off;
        claims += told.converged();
        ++cases;
      }
  // A bump that is not cut out may hide that the zeros keep their distance.
  EXPECT_GE(2 * claims, told_by_text ? cases : 0);
}

INSTANTIATE_TEST_SUITE_P(ByName, LaterPeaks,
                         testing::Combine(testing::Values("auto", "epsilon", "oscillating"),
                                          testing::Bool()));

// In step with the first strips, so that the sums agree before they have seen a swing.
TEST(Equidistant, ClaimsNothingOfWavesInStepWithItsStrips) {
  for (const char* rule : {"simpson", "richardson"})
    for (const double k : {64., 128., 4096.}) {
      const Answer told =
          answer(rule, {"1+cos(" + number(k) + "*x)", {0, static_cast<double>(2 * pi)}, 2 * pi});
      EXPECT_TRUE(!told.converged() || std::fabs(told.value - 2 * pi) <= told.error()) << rule << " " << k;
    }
}

TEST(Condition, IsOneWhereTheIntegrandKeepsItsSign) {
  for (const char* rule : {"simpson", "richardson"})
    EXPECT_EQ(answer(rule, {"x^2", {0, 1}, 1.0L / 3}).condition(), 1) << rule;
  EXPECT_GT(answer("simpson", {"x^2-0.1", {0, 1}, 0}).condition(), 1.1);
}

}  // namespace
}  // namespace tessera::quadrature
