// SPDX-License-Identifier: Apache-2.0
// Peaks on a background, several probes wide and yet far below what they stand on; needles as narrow as
// numbers lie; poles and overflows of which the formula tells.
#include <gtest/gtest.h>
#include <cmath>
#include <fmt/format.h>
#include <numbers>
#include "ops/integrate/rules/auto.hpp"
#include "ops/integrate/rules/cubature.hpp"
#include "ops/integrate/rules/formula_integrand.hpp"
#include "ops/integrate/rules/hidden_regions.hpp"

namespace tessera::quadrature {
namespace {

constexpr double pi = std::numbers::pi;

Answer integral(const std::string& text, Range range, double relative = 1e-10) {
  return automatic(integrand_of(formula::parse(text), "x", range), range, {.relative = relative});
}

struct Hump {
  const char* shape;
  double (*area)(double c, double s, double to);  // of height 1, from 0 on
};

const Hump humps[] = {
    {"exp(-((x-{0})/{1})^2)",
     [](double c, double s, double to) {
       return s * std::sqrt(pi) / 2 * (std::erf((to - c) / s) + std::erf(c / s));
     }},
    {"1/(1+((x-{0})/{1})^2)",
     [](double c, double s, double to) { return s * (std::atan((to - c) / s) + std::atan(c / s)); }},
    {"1/cosh((x-{0})/{1})", [](double c, double s, double to) {
       return 2 * s * (std::atan(std::exp((to - c) / s)) - std::atan(std::exp(-c / s)));
     }}};

// Two bumps on a floor of 1, in as many variables as they have places: each in its own part, and no face runs
// through the other.
TEST(Standing, TwoBumpsOnAFloorAreBothWhole) {
  struct Pair {
    std::vector<double> first, second;
    double height;
  };
  for (const Pair& pair : {Pair{{0.2, 0.7, 0.4, 0.75}, {0.8, 0.3, 0.6, 0.25}, 200},
                           Pair{{0.2, 0.7, 0.4, 0.75, 0.3, 0.6}, {0.8, 0.3, 0.6, 0.25, 0.7, 0.3}, 200}}) {
    constexpr double sharpness = 300;
    const char* const letters[] = {"x", "y", "z", "w", "u", "v"};
    std::string text = "1";
    double exact = 1;
    Box box;
    std::vector<std::string> variables;
    for (const std::vector<double>& centre : {pair.first, pair.second}) {
      double mass = pair.height;
      std::string squares = "0";
      for (std::size_t k = 0; k < centre.size(); ++k) {
        const double root = std::sqrt(sharpness), c = centre[k];
        mass *= std::sqrt(pi / sharpness) / 2 * (std::erf(root * (1 - c)) + std::erf(root * c));
        squares += fmt::format("+({}-{})^2", letters[k], c);
      }
      exact += mass;
      text += fmt::format("+{}*exp(-{}*({}))", pair.height, sharpness, squares);
    }
    for (std::size_t k = 0; k < pair.first.size(); ++k) {
      variables.emplace_back(letters[k]);
      box.axes.push_back({0, 1});
    }
    const formula::Tree tree = formula::parse(text);
    box.features = features_of(tree, variables, box);
    box.hidden = hidden_regions(tree, variables, box, Deadline(10));
    const Answer answer = automatic_cubature(many_values_of(tree, variables), box);
    EXPECT_TRUE(answer.converged()) << text << ": " << answer.why;
    EXPECT_LE(std::fabs(answer.value - exact), answer.error()) << text << ": " << answer.why;
  }
}

// Of every tolerance's size, at places and of widths that share nothing.
TEST(Standing, LowPeaksAreSeen) {
  int converged = 0, all = 0;
  for (const Hump& hump : humps)
    for (int k = 0; k < 80; ++k) {
      const double c = 0.3 + 9.4 * std::fmod(0.618034 * k + 0.2, 1),
                   s = std::pow(10, -6 + 5 * std::fmod(0.7548 * k, 1));
      const double relative = std::pow(10, -10 + 8 * std::fmod(0.5698 * k, 1)),
                   slope = 0.2 + std::fmod(0.81 * k, 1.5);
      const double ground = (1 - std::exp(-10 * slope)) / slope;
      const double height = ground * relative * std::pow(10, 2.5 * std::fmod(0.4142 * k, 1)) / s;
      const std::string text = fmt::format("exp(-{:.17g}*x)+{:.17g}*{}", slope, height,
                                           fmt::format(fmt::runtime(hump.shape), c, s));
      const double exact = ground + height * hump.area(c, s, 10);
      const Answer answer = integral(text, {0, 10}, relative);
      const double off = std::fabs(answer.value - exact);
      EXPECT_TRUE(!answer.converged() || off <= relative * exact + 1e-14) << text << ": off by " << off;
      EXPECT_LE(off, 1.05 * answer.error() + 1e-14) << text;
      converged += answer.converged();
      ++all;
    }
  EXPECT_GE(converged, all * 98 / 100);
}

// Where the background has faded, and the first rule's points end.
TEST(Standing, PeaksBesideABellAreSeen) {
  for (const double c : {2.34974, -7.1, 16.8631, 29.7})
    for (const double s : {2.9e-5, 0.003}) {
      const double height = 5e-9 / s, wide = 0.1047;
      const std::string text = fmt::format("exp(-(x/{})^2)+{:.17g}/cosh((x-({}))/{})", wide, height, c, s);
      const double exact = wide * std::sqrt(pi) + height * pi * s;
      const Answer answer = integral(text, {-infinity, infinity});
      EXPECT_TRUE(!answer.converged() || std::fabs(answer.value - exact) <= 1e-10 * exact) << text;
    }
}

// A bump that the formula does not tell of, for it is a callable's.
TEST(Standing, OfACallTooWhereProbesMeetIt) {
  for (const double c : {0.71, 2.57, 4.2, 6.3, 9.1})
    for (const double s : {0.004, 0.01, 0.05}) {
      const auto f = [=](double x) { return std::exp(-x) + 1e-6 * std::exp(-((x - c) / s) * ((x - c) / s)); };
      const double exact = 1 - std::exp(-10) + 1e-6 * humps[0].area(c, s, 10);
      const Answer answer = automatic(plain(f), {0, 10});
      EXPECT_TRUE(answer.converged()) << words(answer) << " at " << c;
      EXPECT_NEAR(answer.value, exact, 1e-10) << c << " " << s;
    }
}

// In f32 a peak may be a few numbers wide: then no answer is right but by chance.
TEST(Standing, NeedlesOfFewNumbersAreNotClaimed) {
  for (const auto& places : {std::vector<int>{82}, {82, 88}, {77, 82, 88}, {3, 90}, {41, 42, 43, 64}})
    for (const double s : {3e-5, 1e-5, 1e-4}) {
      std::string text;
      for (const int c : places)
        text += fmt::format("{}exp(-((x-{})/{})^2)/{}", text.empty() ? "" : "+", c, s, s);
      const Range range{0, 100, 0x1p-24};
      const Answer answer =
          automatic(integrand_of(formula::parse(text), "x", range), range, {.relative = 1e-5});
      const double exact = static_cast<double>(places.size()) * std::sqrt(pi),
                   off = std::fabs(answer.value - exact);
      EXPECT_TRUE(!answer.converged() || off <= 1e-5 * exact) << text << ": " << answer.value;
      EXPECT_LE(off, answer.error()) << text << ": " << words(answer);
      EXPECT_FALSE(answer.without_limit()) << text;
    }
  for (const double c : {0.7, 0.31, 0.93}) {
    const Range range{0, 1, 0x1p-24};
    const std::string text = fmt::format("1+exp(-((x-{})/1e-6)^2)/1e-6", c);
    EXPECT_FALSE(
        automatic(integrand_of(formula::parse(text), "x", range), range, {.relative = 1e-5}).without_limit());
  }
}

TEST(Standing, PolesInsideHaveTheirPlaceFromTheText) {
  int k = 0;
  for (double c = 0.0137; c < 1; c += 0.0241, ++k) {
    const double power = -0.02 - 0.3 * std::fmod(0.618 * k, 1);
    const auto part = [](double x) { return x * std::log(x) - x; };
    const Answer log = integral(fmt::format("log(abs(x-{:.6g}))", c), {0, 1});
    const double place = std::stod(fmt::format("{:.6g}", c)), exact = part(place) + part(1 - place);
    EXPECT_TRUE(log.converged()) << place << ": " << words(log);
    EXPECT_NEAR(log.value, exact, 1e-10 * std::fabs(exact)) << place;
    const Answer pole = integral(fmt::format("abs(x-{:.6g})^({:.17g})", c, power), {0, 1});
    const double known = (std::pow(place, power + 1) + std::pow(1 - place, power + 1)) / (power + 1);
    EXPECT_TRUE(pole.converged()) << place << ": " << words(pole);
    EXPECT_NEAR(pole.value, known, 1e-10 * known) << place;
  }
}

// exp overflows long before x^3 over it counts.
TEST(Standing, OverflowsOfWhatDividesCostNothing) {
  for (const double t : {0.0004, 0.001, 0.002, 0.0173})
    for (const int k : {1, 2, 3}) {
      const double zeta[] = {0, pi * pi / 6, 1.2020569031595943, std::pow(pi, 4) / 90};
      const double factorial = k == 3 ? 6 : k;
      const double planck = std::pow(t, k + 1) * factorial * zeta[k];
      for (const char* text : {"x^{}/(exp(x/{})-1)", "x^{}/expm1(x/{})"}) {
        const Answer answer = integral(fmt::format(fmt::runtime(text), k, t), {0, infinity});
        EXPECT_TRUE(answer.converged()) << text << " " << t << ": " << words(answer);
        EXPECT_NEAR(answer.value, planck, 1e-10 * planck) << text << " " << t;
      }
      // 1/(exp((x-m)/t)+1): but for exp(-m/t) a polynomial of t.
      const double m = 1.3, square = pi * pi * t * t;
      const double fermi = k == 1   ? m * m / 2 + square / 6
                           : k == 2 ? m * m * m / 3 + square * m / 3
                                    : m * m * m * m / 4 + square * m * m / 2 + 7 * square * square / 60;
      const Answer answer = integral(fmt::format("x^{}/(exp((x-{})/{})+1)", k, m, t), {0, infinity});
      EXPECT_TRUE(answer.converged()) << k << " " << t << ": " << words(answer);
      EXPECT_NEAR(answer.value, fermi, 1e-10 * fermi) << k << " " << t;
    }
}

Answer over_unit_box(const std::string& text, const std::vector<std::string>& variables, double relative) {
  const formula::Tree tree = formula::parse(text);
  Box box{std::vector<Range>(variables.size(), Range{0, 1})};
  box.features = features_of(tree, variables, box);
  box.hidden = hidden_regions(tree, variables, box);
  return automatic_cubature(many_values_of(tree, variables), box, {.relative = relative},
                            usual_cubature_limits, 2);
}

TEST(Standing, InSeveralVariablesToo) {
  const std::vector<std::string> names{"x", "y", "z", "w"};
  int converged = 0, all = 0;
  for (std::size_t d = 2; d <= 4; ++d)
    for (int k = 0; k < (d == 4 ? 2 : 8); ++k) {
      const double s = std::pow(10, -3 + 1.5 * std::fmod(0.7548 * k + 0.1, 1)),
                   relative = std::pow(10, -4.5 + 1.5 * std::fmod(0.618 * k, 1));
      const double height =
          relative * std::pow(10, 0.3 + std::fmod(0.4142 * k, 1)) / std::pow(s * std::sqrt(pi), d);
      std::string sum;
      double area = height;
      for (std::size_t axis = 0; axis < d; ++axis) {
        const double c = 0.15 + 0.7 * std::fmod(0.618 * k + 0.317 * static_cast<double>(axis), 1);
        sum += fmt::format("{}({}-{:.17g})^2", axis == 0 ? "" : "+", names[axis], c);
        area *= humps[0].area(c, s, 1);
      }
      const std::string text = fmt::format("1+{:.17g}*exp(-({})/{:.17g}^2)", height, sum, s);
      const Answer answer =
          over_unit_box(text, {names.begin(), names.begin() + static_cast<std::ptrdiff_t>(d)}, relative);
      const double off = std::fabs(answer.value - 1 - area);
      EXPECT_TRUE(!answer.converged() || off <= relative * (1 + area)) << text << ": " << answer.value;
      EXPECT_LE(off, answer.error()) << text;
      converged += answer.converged();
      ++all;
    }
  EXPECT_GE(converged, all * 9 / 10);
}

// No part of one variable alone tells of these.
TEST(Standing, TurnedAgainstTheAxesToo) {
  int converged = 0;
  for (int k = 0; k < 10; ++k) {
    const double s = std::pow(10, -3.2 + 1.6 * std::fmod(0.7548 * k, 1)), relative = 3e-5;
    const double a = 0.36 + 0.028 * k, b = -0.09 + 0.018 * std::fmod(7.0 * k, 10),
                 height = 8e-4 / (pi * s * s);
    const std::string text = fmt::format(
        "exp(-x)+{:.17g}*exp(-(((x+y)/2-{:.17g})^2+(x-y-({:.17g}))^2)/{:.17g}^2)", height, a, b, s);
    const Answer answer = over_unit_box(text, {"x", "y"}, relative);
    const double exact = 1 - std::exp(-1) + 8e-4;
    EXPECT_TRUE(!answer.converged() || std::fabs(answer.value - exact) <= relative * exact)
        << text << ": " << answer.value;
    converged += answer.converged();
  }
  EXPECT_GE(converged, 8);
}

}  // namespace
}  // namespace tessera::quadrature
