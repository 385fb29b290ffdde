// SPDX-License-Identifier: Apache-2.0
// Products of Gauss-Kronrod pairs over boxes of two and three variables.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <numbers>
#include <random>
#include "ops/integrate/quadrature/several_variables/genz_malik.hpp"
#include "ops/integrate/quadrature/several_variables/several_variables.hpp"
#include "ops/integrate/quadrature/formula/formula_integrand.hpp"
#include "ops/integrate/quadrature/several_variables/products.hpp"
#include "tessera/core/text/error.hpp"

namespace tessera::quadrature {
namespace {

BatchIntegrand of(const std::string& text, int d) {
  return batch_integrand_of(formula::parse(text), d == 2 ? std::vector<std::string>{"x", "y"}
                                                         : std::vector<std::string>{"x", "y", "z"});
}

Answer product_of(const std::string& text, int d, double relative, int threads = 1,
                  std::int64_t most = 2'000'000) {
  UnitCube cube(of(text, d), Box{std::vector<Range>(static_cast<std::size_t>(d))}, {.evaluations = most});
  return AdaptiveCubature<KronrodProduct>(cube, {.relative = relative}, threads)
      .advance(cube.evaluations_left());
}

Answer genz_malik_of(const std::string& text, int d, double relative) {
  UnitCube cube(of(text, d), Box{std::vector<Range>(static_cast<std::size_t>(d))},
                {.evaluations = 4'000'000});
  return AdaptiveCubature<GenzMalik>(cube, {.relative = relative}, 1).advance(cube.evaluations_left());
}

// One region is exact up to degree 23 of each variable; Gauss's seven points are exact up to 13.
TEST(KronrodProduct, IsExactForPolynomialsOfDegreeTwentyThreeOnEachAxis) {
  for (const int d : {2, 3}) {
    const KronrodProduct rule(d);
    EXPECT_EQ(rule.points(), d == 2 ? 229u : 3381u);
    std::vector<double> u(rule.points() * static_cast<std::size_t>(d)), y(rule.points());
    for (const auto& [degree, exact] : {std::pair{22, true}, {23, true}, {24, false}, {26, false}}) {
      Region region{};
      for (int k = 0; k < d; ++k) {
        region.centre[k] = region.half[k] = 0.5;
        rule.place(0.5, 0.5, k, &u[static_cast<std::size_t>(k) * rule.points()]);
      }
      for (std::size_t p = 0; p < y.size(); ++p) {
        y[p] = 1;
        for (std::size_t k = 0; k < static_cast<std::size_t>(d); ++k)
          y[p] *= std::pow(2 * u[k * y.size() + p] - 1.0, degree) + u[k * y.size() + p];
      }
      const RegionResult result = rule.summarize(y.data(), region);
      const double one = (degree % 2 == 0 ? 1.0 / (degree + 1) : 0) + 0.5, all = std::pow(one, d);
      EXPECT_EQ(std::fabs(result.value - all) <= 4e-15 * all, exact) << d << " " << degree;
      EXPECT_LE(std::fabs(result.value - all), result.error + 1e-15) << d << " " << degree;
      EXPECT_GT(result.unconfirmed, 1e-8);  // Gauss's points are not exact there
    }
  }
}

double lorentz(double a) { return 10 * (std::atan(10 * (1 - a)) + std::atan(10 * a)); }

double bell(double k, double a) {
  return std::sqrt(std::numbers::pi / k) / 2 *
         (std::erf(std::sqrt(k) * (1 - a)) + std::erf(std::sqrt(k) * a));
}

double wave(std::initializer_list<double> k) {
  double out = 1, phase = 0;
  for (const double one : k) {
    out *= 2 * std::sin(one / 2) / one;
    phase += one / 2;
  }
  return out * std::cos(phase);
}

// For smooth functions, many digits take fewer points than with Genz and Malik's rule.
TEST(KronrodProduct, ManyDigitsOfSmoothFunctionsTakeFewerPoints) {
  struct Smooth {
    const char* text;
    int d;
    double exact;
  };
  for (const Smooth& one :
       {Smooth{"1/(1+x)/(1+y)", 2, std::log(2) * std::log(2)}, Smooth{"cos(5*x+3*y)", 2, wave({5, 3})},
        Smooth{"1/((1e-2+(x-0.3)^2)*(1e-2+(y-0.4)^2))", 2, lorentz(0.3) * lorentz(0.4)},
        Smooth{"exp(-30*((x-0.4)^2+(y-0.6)^2))", 2, bell(30, 0.4) * bell(30, 0.6)},
        Smooth{"cos(3*x+2*y+4*z)", 3, wave({3, 2, 4})},
        Smooth{"exp(-20*((x-0.4)^2+(y-0.6)^2+(z-0.5)^2))", 3,
               bell(20, 0.4) * bell(20, 0.6) * bell(20, 0.5)}}) {
    const double exact = one.exact;
    const Answer products = product_of(one.text, one.d, 1e-10);
    EXPECT_TRUE(products.converged()) << one.text << " " << reason_text(products);
    EXPECT_LE(std::fabs(products.value - exact), products.error() + 4e-16 * std::fabs(exact)) << one.text;
    EXPECT_LE(std::fabs(products.value - exact), 1e-10 * std::fabs(exact)) << one.text;
    EXPECT_LT(2 * products.evaluations, genz_malik_of(one.text, one.d, 1e-10).evaluations) << one.text;
  }
}

// For kinks and jumps along axes or oblique, the value is within its error, and within the tolerance if it
// converges.
TEST(KronrodProduct, BoundsErrorsAtKinksAndJumps) {
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> uniform(0.02, 0.98);
  int is_candidate = 0;
  for (int i = 0; i < 12; ++i) {
    const double a = uniform(random), b = uniform(random);
    const std::string at = fmt::format("{:.17g}", a), other = fmt::format("{:.17g}", b);
    const auto kink = [](double c) { return (c * c + (1 - c) * (1 - c)) / 2; };
    const double below = a < b ? a * a / (2 * b) : a - b / 2;  // the area where x + b·y < a
    const std::pair<std::string, double> tried[] = {
        {"abs(x-" + at + ")*(1+y)", 1.5 * kink(a)},
        {"abs(x-" + at + ")+abs(y-" + other + ")", kink(a) + kink(b)},
        {"(x<" + at + ")*(2+y)", 2.5 * a},
        {"(y<" + at + ")+(x<" + other + ")*x", a + b * b / 2},
        {"(x<" + at + " and y<" + other + ")", a * b},
        {"1+(x+" + other + "*y<" + at + ")", 1 + below},
    };
    for (const auto& [text, exact] : tried) {
      const Answer answer = product_of(text, 2, 1e-3, 1, 300'000);
      const double off = std::fabs(answer.value - exact);
      EXPECT_LE(off, answer.error() + 1e-15) << text << " " << reason_text(answer);
      if (!answer.converged()) continue;
      ++is_candidate;
      EXPECT_LE(off, 1e-3 * exact) << text;
    }
  }
  EXPECT_GE(is_candidate, 60);
}

TEST(KronrodProduct, SeesAJumpBehindItsOutermostPoints) {
  for (const double at : {0.4985, 0.5015, 0.7485, 0.9985, 0.002})
    for (const int d : {2, 3}) {
      const Answer answer =
          product_of(fmt::format("x<{:.17g}", at), d, 1e-2 / (d == 3 ? 0.5 : 1), 1, 300'000);
      EXPECT_LE(std::fabs(answer.value - at), answer.error() + 1e-15) << at << " " << d;
    }
}

TEST(KronrodProduct, KeepsToItsCapsAndGivesTheSameBitsFromAnyNumberOfThreads) {
  const char* const text = "exp(-abs(x-0.3)-abs(y-0.7))*cos(3*z)";
  const Answer one = product_of(text, 3, 1e-6, 1, 500'000);
  EXPECT_EQ(one.reason, Reason::evaluations);
  EXPECT_LE(one.evaluations, 500'000);
  for (const int threads : {2, 5}) {
    const Answer more = product_of(text, 3, 1e-6, threads, 500'000);
    EXPECT_EQ(more.value, one.value);
    EXPECT_EQ(more.error(), one.error());
    EXPECT_EQ(more.evaluations, one.evaluations);
  }
  EXPECT_EQ(product_of(text, 3, 1e-6, 1, 20'000).reason, Reason::evaluations);
}

// The rule is tried by name, with infinite and exchanged limits; `auto` uses it if many digits are requested
// and products of tanh-sinh do not give them.
TEST(KronrodProduct, IsAvailableByNameAndToAuto) {
  const auto named = [](const std::string& text, const Box& box, double relative) {
    return integrate_several("gauss_kronrod", of(text, box.dimensions()), box, {.relative = relative},
                             usual_cubature_limits, {}, 1);
  };
  const Answer bell = named("exp(-(x^2+y^2)/2)", {{{-infinity, infinity}, {-infinity, infinity}}}, 1e-10);
  EXPECT_TRUE(bell.converged()) << reason_text(bell);
  EXPECT_LE(std::fabs(bell.value - 2 * std::numbers::pi), 1e-9);
  EXPECT_NEAR(named("x*y", {{{1, 0}, {0, 1}}}, 1e-6).value, -0.25, 1e-12);
  EXPECT_EQ(named("1/(x-0.5)", {{{0, 1}, {0, 1}}}, 1e-6).reason == Reason::converged, false);
  EXPECT_THROW((void)integrate_several("gauss_kronrod",
                                       batch_integrand_of(formula::parse("x*y*z*w"), {"x", "y", "z", "w"}),
                                       {std::vector<Range>(4, {0, 1})}, {}, usual_cubature_limits, {}, 1),
               Error);
}

}  // namespace
}  // namespace tessera::quadrature
