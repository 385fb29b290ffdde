// SPDX-License-Identifier: Apache-2.0
// Integrals over several variables: to the tolerance, or with an honest reason.
#include <gtest/gtest.h>
#include "ops/integrate/quadrature/several_variables.hpp"
#include "ops/integrate/quadrature/formula_integrand.hpp"
#include "ops/integrate/quadrature/genz_malik.hpp"
#include "ops/integrate/quadrature/tanh_sinh_product.hpp"
#include "ops/integrate/quadrature/quasi_random.hpp"
#include "ops/integrate/quadrature/sobol.hpp"
#include "tessera/core/error.hpp"

namespace tessera::quadrature {
namespace {

constexpr double pi = std::numbers::pi;

bool near(double value, double exact, double relative) {
  return std::fabs(value - exact) <= relative * std::fabs(exact);
}

template <class F>
ManyValues many(int d, F f) {
  return [d, f](std::span<const double> points, std::size_t count, std::span<double> y) {
    double x[most_dimensions];
    for (std::size_t i = 0; i < count; ++i) {
      for (int k = 0; k < d; ++k) x[k] = points[static_cast<std::size_t>(k) * count + i];
      y[i] = f(x);
    }
  };
}

template <class Term>
double sum(int d, Term term) {
  double out = 0;
  for (int i = 0; i < d; ++i) out += term(i);
  return out;
}

template <class Term>
double product(int d, Term term) {
  double out = 1;
  for (int i = 0; i < d; ++i) out *= term(i);
  return out;
}

struct Known {
  const char* id;
  int d;
  Range range;
  double exact;
  std::function<double(const double*)> f;
  bool hard = false;  // an honest reason will do
};

std::vector<Known> genz() {
  return {
      {"M1, Genz: oscillatory",
       8,
       {0, 1},
       0.00003439557952183251585157811,
       [](const double* x) { return std::cos(sum(8, [&](int i) { return (i + 1) * x[i]; })); },
       true},
      {"M2, Genz: product peak",
       6,
       {0, 1},
       12868879901109.87754421518,
       [](const double* x) {
         return product(6, [&](int i) { return 1 / (1 / 2500.0 + (x[i] - 0.5) * (x[i] - 0.5)); });
       }},
      {"M3, Genz: corner peak",
       8,
       {0, 1},
       2.275196581791775607606033e-10,
       [](const double* x) { return std::pow(1 + sum(8, [&](int i) { return (i + 1) * x[i]; }), -9); },
       true},
      {"M5, Genz: kink",
       8,
       {0, 1},
       0.000002425217625641885556922992,
       [](const double* x) { return std::exp(-10 * sum(8, [&](int i) { return std::fabs(x[i] - 0.5); })); }},
      {"M6, Genz: discontinuous",
       6,
       {0, 1},
       154773678.850912074128502,
       [](const double* x) {
         for (int i = 0; i < 6; ++i)
           if (x[i] >= (4 + i) / 10.0) return 0.0;
         return std::exp(sum(6, [&](int i) { return (i + 5) * x[i]; }));
       },
       true}};
}

std::vector<Known> others() {
  return {{"M7, an eighth of a ball",
           3,
           {0, 1},
           0.06593857571608040806990913,
           [](const double* x) { return std::hypot(x[0], x[1], x[2]) < 0.50124145262344534123 ? 1.0 : 0.0; },
           true},
          {"M10, kinks",
           8,
           {0, 1},
           1,
           [](const double* x) { return product(8, [&](int i) { return std::fabs(4 * x[i] - 2); }); }},
          {"M11, oscillatory",
           6,
           {0, 10},
           -49.16507381641945731050132,
           [](const double* x) { return std::sin(sum(6, [&](int i) { return x[i]; })); },
           true},
          {"M12, a narrow bell",
           9,
           {-1, 1},
           1,
           [](const double* x) {
             return std::exp(-sum(9, [&](int i) { return x[i] * x[i]; }) / 2e-4) /
                    std::pow(0.01 * std::sqrt(2 * pi), 9);
           },
           true},
          {"M15, Watson's",
           3,
           {0, pi},
           1.393203929685676859184246,
           [](const double* x) {
             return 1 / (pi * pi * pi) / (1 - std::cos(x[0]) * std::cos(x[1]) * std::cos(x[2]));
           },
           true},
          {"M16, distance in a square",
           2,
           {0, 1},
           0.765195716464212691344766,
           [](const double* x) { return std::hypot(x[0], x[1]); }},
          {"M17, distance in a cube",
           3,
           {0, 1},
           0.960591956455052959425108,
           [](const double* x) { return std::hypot(x[0], x[1], x[2]); }},
          {"M20, a needle of a shell",
           3,
           {-100, 100},
           1.5,
           [](const double* x) {
             const double s = sum(3, [&](int i) { return x[i] * x[i]; });
             return std::pow(pi, -1.5) * s * std::exp(-s);
           }},
          {"M21, kinks on planes",
           5,
           {0, 1},
           0.6366184591824905597188827,
           [](const double* x) { return std::fabs(std::cos(sum(5, [&](int i) { return (i + 4) * x[i]; }))); },
           true},
          {"M22, a polynomial",
           10,
           {0, 1},
           1,
           [](const double* x) { return product(10, [&](int i) { return 2 * x[i]; }); }},
          {"a bell on the plane",
           2,
           {-infinity, infinity},
           2 * pi,
           [](const double* x) { return std::exp(-(x[0] * x[0] + x[1] * x[1]) / 2); }},
          {"half-infinite axes",
           4,
           {0, infinity},
           1,
           [](const double* x) { return std::exp(-sum(4, [&](int i) { return x[i]; })); }},
          {"a polygon",
           2,
           {-2, 2},
           3,
           [](const double* x) { return std::fabs(x[0]) + std::fabs(x[1]) < std::sqrt(1.5) ? 1.0 : 0.0; },
           true}};
}

TEST(Cubature, IsRightOrSaysWhyNot) {
  constexpr double tolerance = 1e-3;
  int converged = 0;
  for (const auto& group : {genz(), others()})
    for (const Known& known : group) {
      const Box box{std::vector<Range>(static_cast<std::size_t>(known.d), known.range)};
      const Answer answer = automatic_cubature(many(known.d, known.f), box, {.relative = tolerance},
                                               {.evaluations = 1'500'000, .seconds = 60, .regions = 1 << 18});
      if (!answer.converged()) {
        EXPECT_TRUE(known.hard) << known.id << ": " << words(answer) << " " << answer.value;
        continue;
      }
      ++converged;
      EXPECT_TRUE(near(answer.value, known.exact, tolerance)) << known.id << " claims " << answer.value;
      EXPECT_LE(std::fabs(answer.value - known.exact), answer.error()) << known.id;
      EXPECT_FALSE(answer.why.empty());
    }
  EXPECT_GE(converged, 11);
}

TEST(Cubature, HasManyDigitsOfFewVariables) {
  for (const Known& known : others()) {
    const std::string id = std::string(known.id).substr(0, 3);
    if (id != "M15" && id != "M16" && id != "M17") continue;
    const Box box{std::vector<Range>(static_cast<std::size_t>(known.d), known.range)};
    const Answer answer =
        automatic_cubature(many(known.d, known.f), box, {.relative = 1e-5}, {.evaluations = 8'000'000});
    EXPECT_TRUE(answer.converged()) << known.id << ": " << words(answer);
    EXPECT_STREQ(answer.rule, "tanh-sinh product");
    EXPECT_TRUE(near(answer.value, known.exact, 1e-6)) << known.id << " " << answer.value;
  }
}

TEST(Cubature, FindsNothingWhereNothingIsSeen) {
  const auto speck = many(4, [](const double* x) { return std::fabs(x[0] - 0.71233) < 1e-6 ? 1.0 : 0.0; });
  const Answer answer = automatic_cubature(speck, {std::vector<Range>(4)});
  EXPECT_EQ(answer.reason, Reason::doubtful);
}

TEST(Cubature, KeepsToItsCaps) {
  const auto wild = many(
      5, [](const double* x) { return std::sin(1e6 * std::sin(1e6 * (x[0] + x[1] * x[2] + x[3] * x[4]))); });
  const Answer few =
      automatic_cubature(wild, {std::vector<Range>(5)}, {.relative = 1e-6}, {.evaluations = 200'000});
  EXPECT_FALSE(few.converged());
  EXPECT_LE(few.evaluations, 210'000);
  const auto start = std::chrono::steady_clock::now();
  EXPECT_FALSE(automatic_cubature(wild, {std::vector<Range>(5)}, {.relative = 1e-9},
                                  {.evaluations = 1'000'000'000'000, .seconds = 0.2})
                   .converged());
  EXPECT_LT(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(), 3);
}

TEST(Cubature, TheSameBitsFromAnyNumberOfThreads) {
  const auto f = many(
      5, [](const double* x) { return std::exp(-sum(5, [&](int i) { return std::fabs(x[i] - 0.3); })); });
  const std::vector<Axis> axes(5, Axis::of({0, 1}));
  double regions = 0, points = 0;
  for (const int threads : {1, 2, 5}) {
    Cube one(f, axes, {.evaluations = 400'000}), other(f, axes, {.evaluations = 400'000});
    const double a = genz_malik(one, {.relative = 1e-5}, threads).value;
    const double b = quasi_random(other, {.relative = 1e-5}, {.threads = threads}).value;
    if (threads == 1) {
      regions = a;
      points = b;
    }
    EXPECT_EQ(a, regions) << threads;
    EXPECT_EQ(b, points) << threads;
  }
}

TEST(Cubature, RefusesWhatMakesNoSense) {
  const auto f = many(2, [](const double* x) { return x[0]; });
  EXPECT_THROW(automatic_cubature(f, {}), Error);
  EXPECT_THROW(automatic_cubature(f, {std::vector<Range>(40)}), Error);
  EXPECT_THROW(automatic_cubature(f, {{{0, nothing}, {0, 1}}}), Error);
  EXPECT_THROW(automatic_cubature(f, {{{0, 1}, {0, 1}}}, {.relative = -1}), Error);
  EXPECT_EQ(automatic_cubature(f, {{{0, 1}, {2, 2}}}).value, 0);
  EXPECT_TRUE(near(automatic_cubature(f, {{{1, 0}, {0, 1}}}).value, -0.5, 1e-6));
}

TEST(GenzMalik, IsExactForPolynomialsOfDegreeSeven) {
  for (const int d : {2, 3, 7}) {
    const auto f = many(d, [d](const double* x) {
      return std::pow(x[0], 4) * std::pow(x[1], 3) + std::pow(x[d - 1], 6) + x[0] * x[0] * x[1] * x[1];
    });
    const double exact = 1.0 / 20 + 1.0 / 7 + 1.0 / 9;
    const GenzMalik rule(d);
    EXPECT_EQ(rule.points(), (std::size_t{1} << d) + static_cast<std::size_t>(2 * d * d + 4 * d + 1));
    Region region{};
    for (int k = 0; k < d; ++k) region.centre[k] = region.half[k] = 0.5;
    std::vector<double> u(rule.points() * static_cast<std::size_t>(d)), y(rule.points());
    for (int k = 0; k < d; ++k)
      rule.place(region.centre[k], region.half[k], k, &u[static_cast<std::size_t>(k) * rule.points()]);
    f(u, rule.points(), y);
    const RegionResult result = rule.conclude(y.data(), region);
    EXPECT_NEAR(result.value, exact, 1e-13) << d;
    EXPECT_GT(result.error, 1e-6);  // the rule of degree five is not
  }
}

TEST(Sobol, EveryBlockFillsEveryInterval) {
  for (int axis = 0; axis < most_sobol_dimensions; ++axis)
    for (const std::uint64_t seed : {1u, 2u, 3u}) {
      int hits[64] = {};
      for (std::uint32_t i = 64; i < 128; ++i) ++hits[static_cast<int>(64 * sobol(i, axis, seed))];
      for (const int n : hits) ASSERT_EQ(n, 1) << axis;
    }
  // The first two axes together: each of 16 × 16 boxes once.
  int hits[256] = {};
  for (std::uint32_t i = 0; i < 256; ++i)
    ++hits[static_cast<int>(16 * sobol(i, 0, 9)) * 16 + static_cast<int>(16 * sobol(i, 1, 9))];
  for (const int n : hits) ASSERT_EQ(n, 1);
}

TEST(Cubature, TakesFormulas) {
  const ManyValues f = many_values_of(formula::parse("exp(-(x^2+y^2)/2)"), {"x", "y"});
  const Answer answer = automatic_cubature(f, {{{-infinity, infinity}, {-infinity, infinity}}});
  EXPECT_TRUE(answer.converged()) << words(answer);
  EXPECT_TRUE(near(answer.value, 2 * pi, 1e-6));
}

}  // namespace
}  // namespace tessera::quadrature
