// SPDX-License-Identifier: Apache-2.0
// VEGAS: random numbers, an honest sigma, reasons, and the same bits for any number of threads.
#include "ops/integrate/quadrature/scattered/vegas.hpp"
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <numbers>
#include "ops/integrate/quadrature/several_variables/several_variables.hpp"
#include "ops/integrate/quadrature/formula/formula_integrand.hpp"
#include "ops/integrate/quadrature/scattered/vegas_point.hpp"
#include "tessera/core/text/error.hpp"

namespace tessera::quadrature {
namespace {

// An integral over several variables, with its exact value.
struct OfSeveral {
  std::string id, formula;
  int dimensions;
  Range range;  // of every axis
  double exact;

  std::vector<std::string> variables() const {
    std::vector<std::string> out;
    for (int i = 1; i <= dimensions; ++i) out.push_back(fmt::format("x{}", i));
    return out;
  }
};

// Joins one copy of the term for each axis, with the axis' number instead of #.
std::string each_axis(int dimensions, const std::string& term, const std::string& join) {
  std::string out;
  for (int i = 1; i <= dimensions; ++i) {
    if (i > 1) out += join;
    for (const char c : term) out += c == '#' ? std::to_string(i) : std::string(1, c);
  }
  return out;
}

std::vector<OfSeveral> of_several() {
  constexpr double pi = std::numbers::pi;
  return {
      {"M1", "cos(" + each_axis(8, "#*x#", "+") + ")", 8, {0, 1}, 0.00003439557952183251585157811},
      {"M2", "1/(" + each_axis(6, "(1/2500+(x#-0.5)^2)", "*") + ")", 6, {0, 1}, 12868879901109.87754421518},
      {"M3", "(1+" + each_axis(8, "#*x#", "+") + ")^-9", 8, {0, 1}, 2.275196581791775607606033e-10},
      {"M5",
       "exp(-10*(" + each_axis(8, "abs(x#-0.5)", "+") + "))",
       8,
       {0, 1},
       0.000002425217625641885556922992},
      {"M6",
       each_axis(6, "x#<(3+#)/10", " and ") + " ? exp(" + each_axis(6, "(#+4)*x#", "+") + ") : 0",
       6,
       {0, 1},
       154773678.850912074128502},
      {"M7", "sqrt(x1^2+x2^2+x3^2)<0.50124145262344534123", 3, {0, 1}, 0.06593857571608040806990913},
      {"M10", each_axis(8, "abs(4*x#-2)", "*"), 8, {0, 1}, 1},
      {"M11", "sin(" + each_axis(6, "x#", "+") + ")", 6, {0, 10}, -49.16507381641945731050132},
      {"M12", "exp(-(" + each_axis(9, "x#^2", "+") + ")/2e-4)/(0.01*sqrt(2*pi))^9", 9, {-1, 1}, 1},
      {"M15", "1/(pi^3*(1-cos(x1)*cos(x2)*cos(x3)))", 3, {0, pi}, 1.393203929685676859184246},
      {"M16", "sqrt(x1^2+x2^2)", 2, {0, 1}, 0.765195716464212691344766},
      {"M17", "sqrt(x1^2+x2^2+x3^2)", 3, {0, 1}, 0.960591956455052959425108},
      {"M20", "pi^-1.5*(x1^2+x2^2+x3^2)*exp(-(x1^2+x2^2+x3^2))", 3, {-100, 100}, 1.5},
      {"M21", "abs(cos(4*x1+5*x2+6*x3+7*x4+8*x5))", 5, {0, 1}, 0.6366184591824905597188827},
      {"M22", each_axis(10, "(2*x#)", "*"), 10, {0, 1}, 1},
      {"a bell", "exp(-(" + each_axis(4, "x#^2", "+") + ")/2)", 4, {-infinity, infinity}, 4 * pi * pi},
      {"a fall", "exp(-(" + each_axis(5, "x#", "+") + "))", 5, {0, infinity}, 1},
      {"24 axes", each_axis(24, "(0.5+x#)", "*"), 24, {0, 1}, 1}};
}

constexpr double sigmas = 3.3;  // truncation / sigma

Answer answer_of(const OfSeveral& one, const Tolerance& tolerance, std::int64_t most, const Vegas& how = {}) {
  const BatchIntegrand f = batch_integrand_of(formula::parse(one.formula), one.variables());
  UnitCube cube(f, Box{std::vector<Range>(static_cast<std::size_t>(one.dimensions), one.range)},
                {.evaluations = most, .seconds = 20});
  return vegas(cube, tolerance, how);
}

TEST(Philox, GivesThePublishedNumbers) {
  const auto expect = [](const u32(&counter)[4], u32 k0, u32 k1, const u32(&want)[4]) {
    const PhiloxState state = philox({counter[0], counter[1], counter[2], counter[3], k0, k1});
    const u32 out[4] = {state.c0, state.c1, state.c2, state.c3};
    for (int i = 0; i < 4; ++i) EXPECT_EQ(out[i], want[i]) << i;
  };
  constexpr u32 all = 0xffffffffu;
  expect({0, 0, 0, 0}, 0, 0, {0x6627e8d5u, 0xe169c58du, 0xbc57ac4cu, 0x9b00dbd8u});
  expect({all, all, all, all}, all, all, {0x408f276du, 0x41c83b0eu, 0xa20bc7c6u, 0x6d5451fdu});
  expect({0x243f6a88u, 0x85a308d3u, 0x13198a2eu, 0x03707344u}, 0xa4093822u, 0x299f31d0u,
         {0xd16cfe09u, 0x94fdccebu, 0x5001e420u, 0x24126ea1u});
}

TEST(Vegas, NamesCubesOnceEach) {
  for (const int d : {1, 2, 5, 8, 24, 32})
    for (const std::int64_t points : {16, 1000, 50'000, 1 << 24}) {
      const VegasPlan plan = plan_of(d, {.points = points});
      const u32 cubes = cubes_of(plan);
      ASSERT_GE(cubes, 1u);
      EXPECT_LE(cubes, std::max<std::int64_t>(1, points / 4)) << d << " " << points;
      if (points == 50'000 && d > 1) {
        EXPECT_GE(cubes, points / 4 / 2) << d;
      }
      u32 stratum[max_dimensions];
      vegas_strata(plan, cubes - 1, d, stratum);
      for (int axis = 0; axis < d; ++axis)
        EXPECT_EQ(stratum[axis] + 1, plan.strata + (axis < plan.finer ? 1 : 0)) << d << " " << points;
    }
}

TEST(Vegas, TheGridFollowsTheWeights) {
  std::vector<double> edges = even_edges(2);
  const std::vector<double> even = edges;
  std::vector<std::uint64_t> weights(2 * vegas_bins, 1000);
  refine(edges, weights);
  for (std::size_t i = 0; i < edges.size(); ++i) EXPECT_NEAR(edges[i], even[i], 1e-12);
  for (std::size_t i = 0; i < vegas_bins; ++i) weights[i] = i == 40 ? 1'000'000 : 0;
  for (int round = 0; round < 4; ++round) refine(edges, weights);
  int near = 0;
  for (std::size_t i = 0; i <= vegas_bins; ++i) {
    EXPECT_GE(edges[i], edges[i == 0 ? 0 : i - 1]);
    near += edges[i] > 35.0 / vegas_bins && edges[i] < 46.0 / vegas_bins;
  }
  EXPECT_GT(near, vegas_bins / 2);
  EXPECT_EQ(edges[0], 0);
  EXPECT_EQ(edges[vegas_bins], 1);
}

// Over 200 seeds, (answer - exact) / sigma has the mean 0 and at most the variance 1.
void expect_honest_sigma(const OfSeveral& one, double tolerance, std::int64_t most) {
  constexpr int seeds = 200;
  double sum = 0, squares = 0;
  int beyond = 0;
  for (int seed = 1; seed <= seeds; ++seed) {
    const Answer answer =
        answer_of(one, {.relative = tolerance}, most, {.seed = static_cast<std::uint64_t>(seed)});
    const double pull = (answer.value - one.exact) / (answer.truncation / sigmas);
    ASSERT_TRUE(std::isfinite(pull)) << one.id << " " << seed;
    EXPECT_TRUE(!answer.converged() || std::fabs(pull) <= 4) << one.id << " " << seed;
    sum += pull;
    squares += pull * pull;
    beyond += std::fabs(pull) > 2;
  }
  const double mean = sum / seeds, variance = squares / seeds - mean * mean;
  EXPECT_LE(std::fabs(mean), 0.28) << one.id;  // four standard errors of the mean
  EXPECT_GE(variance, 0.5) << one.id;          // sigmas must not be much too large, either
  EXPECT_LE(variance, 1.4) << one.id;
  EXPECT_LE(beyond, 24) << one.id;  // one in twenty-two
}

TEST(Vegas, ItsSigmaIsHonestWhereFIsSmooth) {
  const double e = std::exp(1.0) - 1;
  expect_honest_sigma({"smooth", "exp(x1+x2+x3)", 3, {0, 1}, e * e * e}, 1e-3, 40'000);
}

TEST(Vegas, ItsSigmaIsHonestAtAPeak) {
  // The bell is negligible at the faces.
  expect_honest_sigma({"a bell",
                       "exp(-((x1-0.3)^2+(x2-0.6)^2+(x3-0.5)^2+(x4-0.4)^2)/0.005)",
                       4,
                       {0, 1},
                       std::pow(std::numbers::pi * 0.005, 2)},
                      1e-2, 60'000);
}

TEST(Vegas, ItsSigmaIsHonestAtJumps) {
  for (const OfSeveral& one : of_several())
    if (one.id == "M6") expect_honest_sigma(one, 2e-2, 100'000);
}

TEST(Vegas, ErrorsFallWithTheNumberOfPoints) {
  const OfSeveral one{"", "cos(x1+2*x2)*exp(x3)*(1+x4*x5)", 5, {0, 1}, 0};
  const double few = answer_of(one, {.relative = 1e-9}, 100'000).truncation,
               many = answer_of(one, {.relative = 1e-9}, 1'600'000).truncation;
  EXPECT_LT(many, few / 3.5);  // chance alone gives 4, less what learning takes; strata more
  EXPECT_GT(many, few / 100);
}

TEST(Vegas, IsRightOrGivesAReason) {
  int converged = 0;
  for (const OfSeveral& one : of_several()) {
    const Answer answer = answer_of(one, {.relative = 1e-3}, 1'500'000);
    EXPECT_FALSE(answer.why.empty()) << one.id;
    if (!answer.converged()) continue;
    ++converged;
    EXPECT_LE(answer.error(), 1e-3 * std::fabs(answer.value)) << one.id;
    EXPECT_LE(std::fabs(answer.value - one.exact), 4 / sigmas * answer.error()) << one.id;
  }
  EXPECT_GE(converged, 12);
}

TEST(Vegas, FindsANarrowBellInNineDimensions) {
  for (const OfSeveral& one : of_several()) {
    if (one.id != "M12") continue;
    const Answer answer = answer_of(one, {.relative = 1e-2}, 6'000'000);
    EXPECT_TRUE(answer.converged()) << reason_text(answer) << " " << answer.value;
    EXPECT_NEAR(answer.value, 1, 1.3e-2);
  }
}

TEST(Vegas, GivesTheSameBitsForAnyNumberOfThreads) {
  for (const OfSeveral& one : of_several()) {
    if (one.id != "M5" && one.id != "M7") continue;
    const Answer alone = answer_of(one, {.relative = 1e-3}, 300'000, {.threads = 1});
    for (const int threads : {2, 5}) {
      const Answer answer = answer_of(one, {.relative = 1e-3}, 300'000, {.threads = threads});
      EXPECT_EQ(answer.value, alone.value) << threads;
      EXPECT_EQ(answer.truncation, alone.truncation) << threads;
      EXPECT_EQ(answer.evaluations, alone.evaluations) << threads;
    }
    EXPECT_NE(answer_of(one, {.relative = 1e-3}, 300'000, {.seed = 2}).value, alone.value);
  }
}

TEST(Vegas, IsIndependentOfTheScaleOfF) {
  const OfSeveral one{"", "exp(x1+x2)", 2, {0, 1}, 0};
  const Answer plain = answer_of(one, {.relative = 1e-3}, 100'000);
  for (const double size : {0x1p-900, 0x1p900}) {
    OfSeveral other = one;
    other.formula = fmt::format("{:.17g}*({})", size, one.formula);
    const Answer answer = answer_of(other, {.relative = 1e-3}, 100'000);
    EXPECT_TRUE(answer.converged()) << size;
    EXPECT_NEAR(answer.value / size, plain.value, 2e-3 * plain.value) << size;
  }
}

TEST(Vegas, ReportsTheRightReasons) {
  const auto of = [](const char* formula, int d, std::int64_t most = 200'000) {
    return answer_of({"", formula, d, {0, 1}, 0}, {.relative = 1e-3}, most);
  };
  EXPECT_EQ(of("0*x1", 3).reason, Reason::doubtful);
  EXPECT_EQ(of("x1>0.5 ? 0/0 : 1", 3).reason, Reason::non_finite);
  const Answer few = of("sin(1e6*x1*x2)", 2, 20'000);
  EXPECT_EQ(few.reason, Reason::evaluations);
  EXPECT_LE(few.evaluations, 20'000);
  // The variance is infinite, so sigma says nothing.
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    const Answer tail =
        answer_of({"", "(x1^2+x2^2+x3^2)^-1.4", 3, {0, 1}, 0}, {.relative = 3e-3}, 400'000, {seed});
    const double exact = 8.16445803626735;
    EXPECT_TRUE(!tail.converged() || std::fabs(tail.value - exact) <= 4 / sigmas * tail.error())
        << seed << ": " << tail.value << " " << tail.error();
  }
  const Answer flat = of("3+0*x1", 4);
  EXPECT_TRUE(flat.converged());
  EXPECT_NEAR(flat.value, 3, 1e-12);
  EXPECT_LE(std::fabs(flat.value - 3), flat.error());
}

TEST(Vegas, KeepsToItsTime) {
  const auto slow = [](std::span<const double>, std::size_t count, std::span<double> y) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(count);
    while (std::chrono::steady_clock::now() < end) {
    }
    std::ranges::fill(y, 1.5);
  };
  UnitCube cube(slow, Box{std::vector<Range>(3)}, {.evaluations = 1'000'000'000, .seconds = 0.1});
  const auto start = std::chrono::steady_clock::now();
  const Answer answer = vegas(cube, {.relative = 1e-15}, {.threads = 1});
  EXPECT_FALSE(answer.converged());
  EXPECT_LT(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(), 2);
}

TEST(Vegas, ConvergesWhereOtherRulesFail) {
  for (const OfSeveral& one : of_several()) {
    if (one.id != "24 axes") continue;
    const BatchIntegrand f = batch_integrand_of(formula::parse(one.formula), one.variables());
    const Box box{std::vector<Range>(static_cast<std::size_t>(one.dimensions), one.range)};
    const Answer answer =
        integrate_several("auto", f, box, {.relative = 1e-3}, {.evaluations = 4'000'000, .seconds = 20});
    EXPECT_TRUE(answer.converged()) << one.id << ": " << reason_text(answer) << " " << answer.why;
    EXPECT_NE(answer.why.find("VEGAS"), std::string::npos) << answer.why;
    EXPECT_LE(std::fabs(answer.value - one.exact), 4 / sigmas * answer.error()) << one.id;
  }
}

TEST(Vegas, IsOneOfTheRulesByName) {
  const BatchIntegrand f = batch_integrand_of(formula::parse("exp(x+y)"), {"x", "y"});
  const Answer answer = integrate_several("vegas", f, {{{0, 1}, {1, 0}}}, {.relative = 1e-3},
                                          {.evaluations = 1'000'000}, {}, 2);
  EXPECT_TRUE(answer.converged());
  EXPECT_NEAR(answer.value, -std::pow(std::exp(1.0) - 1, 2), 4e-3);
  EXPECT_THROW((void)integrate_several("vegas", f, {std::vector<Range>(40)}, {.relative = 1e-3}, {}, {}, 1),
               Error);
}

}  // namespace
}  // namespace tessera::quadrature
