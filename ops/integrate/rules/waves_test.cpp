// SPDX-License-Identifier: Apache-2.0
// Trains of narrow peaks that a wave makes: all of them are found, or nothing is claimed.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <string>
#include "ops/integrate/rules/auto.hpp"
#include "ops/integrate/rules/by_name.hpp"
#include "ops/integrate/rules/formula_integrand.hpp"
#include "tessera/formula/tree.hpp"

namespace tessera::quadrature {
namespace {

using Real = long double;
constexpr Real pi = 3.14159265358979323846264338327950288L;

Answer over(const std::string& text, const Range& range = {0, 1}, const Tolerance& tolerance = {}) {
  return by_name("auto", integrand_of(formula::parse(text), "x", range), range, tolerance, {}, {});
}

// `moved`: what rounding inside the formula moves its jumps by, which no rule sees.
void expect_right(const Answer& told, Real exact, const std::string& text, Real moved = 0) {
  const auto off = static_cast<double>(std::fabs(told.value - exact)), size = static_cast<double>(exact);
  EXPECT_LE(off, told.error() + 1e-15 * size + static_cast<double>(moved)) << text << ": " << words(told);
  EXPECT_LT(told.error(), 1e-6 * size) << text << ": " << words(told);
}

// How much of [from, to] a wave of period 2π spends within `half` of its tops, which stand at `top`.
Real share(Real from, Real to, Real top, Real half) {
  Real out = 0;
  for (Real at = top + 2 * pi * std::floor((from - half - top) / (2 * pi)); at - half < to; at += 2 * pi)
    out += std::fmax(Real(0), std::fmin(to, at + half) - std::fmax(from, at - half));
  return out;
}

TEST(Trains, OfThresholdsAreWhole) {
  for (const double k : {20., 37., 100., 311., 1000., 2000., 3000.})
    for (const double c : {0.9, 0.99, 0.9999, 0.999999})
      for (const double p : {0., 0.7}) {
        const std::string wave = fmt::format("sin({}*x+{})>{}", k, p, c);
        const Real half = std::acos(Real(c)), measure = share(p, k + p, pi / 2, half) / k;
        const Real moved = measure / half * unit / std::sin(half);
        expect_right(over(wave), measure, wave, moved);
        expect_right(over("1+1e3*(" + wave + ")"), 1 + 1e3L * measure, wave, 1e3L * moved);
        expect_right(over("if(" + wave + ",1e3,1)", {0, 1}, {1e-6, 0}), 1 + 999 * measure, wave,
                     1e3L * moved);
      }
}

TEST(Trains, OfSlowingAndWavingArgumentsAreWhole) {
  for (const double a : {0.01, 0.02, 0.003})
    for (const double w : {1e-3, 1e-4}) {
      Real measure = 0;  // of |1/(x+a) - kπ| < atan(w)
      for (int k = 1; k * pi < 1 / Real(a) + 1; ++k) {
        const Real from = std::fmax(1 / (k * pi + std::atan(Real(w))), Real(a)),
                   to = std::fmin(1 / (k * pi - std::atan(Real(w))), 1 + Real(a));
        measure += std::fmax(Real(0), to - from);
      }
      const std::string text = fmt::format("1+(abs(tan(1/(x+{})))<{})*1e3", a, w);
      expect_right(over(text), 1 + 1e3L * measure, text);
    }
  // From 0 to π the argument rises and falls, so its tops count twice: at asin((2πk)/50) within.
  Real measure = 0;
  const Real half = std::acos(0.9999L);
  for (int k = 0; k < 8; ++k) {
    const Real from = std::asin(std::fmax(Real(0), 2 * pi * k - half) / 50),
               to = std::asin((2 * pi * k + half) / 50);
    measure += 2 * (to - from);
  }
  const double end = static_cast<double>(pi);
  expect_right(over("1+1e3*(cos(50*sin(x))>0.9999)", {0, end}), pi + 1e3L * measure, "of a wave");
}

TEST(Trains, OfSmoothPeaksAreWhole) {
  for (const double k : {30., 400., 1000., 2000.})
    for (const double w : {1e4, 1e6, 1e8}) {
      const int tops = static_cast<int>(std::floor((k - pi / 2) / (2 * pi))) + 1;
      const Real one = std::sqrt(2 * pi / w) * (1 + 1 / (8 * Real(w)) + 9 / (128 * Real(w) * w));
      const std::string text = fmt::format("1+1e3*exp(-{}*(1-sin({}*x)))", w, k);
      expect_right(over(text), 1 + 1e3L * tops * one / k, text);
    }
  // Linear in the wave beyond the threshold: per top 2(sin(half) - c·half).
  for (const double k : {400., 1000.}) {
    const int tops = static_cast<int>(std::floor((k - pi / 2) / (2 * pi))) + 1;
    const Real c = 0.999999, half = std::acos(c), one = 2 * (std::sin(half) - c * half) / k;
    const std::string text = fmt::format("1+1e8*max(0,sin({}*x)-0.999999)", k);
    expect_right(over(text), 1 + 1e8L * tops * one, text);
  }
}

// Where there are more than can be looked at, what was met says nothing of the others.
TEST(Trains, ThatCannotBeCountedAreNotClaimed) {
  for (const char* text :
       {"1+1e3*(sin(1e6*x)>0.9999)", "1+1e3*(sin(1/x)>0.99999)", "1+1e3*exp(-1e8*(1-cos(1e5*x)))",
        "if(sin(3e4*x)>0.999999,1e3,1)", "1+1e3*(cos(16623.979*x+0.814)>0.9504)",
        "1+(abs(tan(1e5*x^2))<1e-3)*1e3", "1+1e3*(cos(exp(12*x))>0.99999)"}) {
    const Answer told = over(text);
    EXPECT_FALSE(told.converged()) << text << ": " << words(told);
    EXPECT_EQ(told.error(), infinity) << text << ": " << words(told);
  }
}

TEST(Trains, AreNotSuspectedOfWavesThatAreWide) {
  for (const char* text : {"sin(100*x)", "exp(sin(100*x))", "1/(2+cos(300*x))", "abs(sin(100*x))",
                           "exp(sin(3e3*x))", "sqrt(2+sin(1e3*x))", "log(3+cos(x)^2+sin(700*x))"}) {
    const Answer told = over(text);
    EXPECT_TRUE(told.converged()) << text << ": " << words(told);
  }
}

}  // namespace
}  // namespace tessera::quadrature
