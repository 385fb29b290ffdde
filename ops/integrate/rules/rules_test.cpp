// SPDX-License-Identifier: Apache-2.0
// The one-dimensional rules against integrals known to 30 digits, and against those that have made
// libraries vouch for wrong values.
#include <gtest/gtest.h>
#include "ops/integrate/rules/auto.hpp"
#include "ops/integrate/rules/double_exponential.hpp"
#include "ops/integrate/rules/equidistant.hpp"
#include "ops/integrate/rules/gauss_kronrod.hpp"
#include "ops/integrate/rules/integrands.hpp"
#include "ops/integrate/rules/kronrod_nodes.hpp"
#include "tessera/core/error.hpp"

namespace tessera::quadrature {
namespace {

constexpr double pi = std::numbers::pi;

bool near(double value, double exact, double relative) {
  return std::fabs(value - exact) <= relative * std::fabs(exact);
}

TEST(Automatic, IsRightOnTheKnownIntegrals) {
  const std::vector<Known> all = known_integrals();
  ASSERT_EQ(all.size(), 34);
  std::size_t right = 0;
  for (const Known& known : all) {
    const Answer answer = automatic(known.f, known.range);
    const bool good = near(answer.value, known.exact, 1e-10);
    if (answer.converged()) {
      EXPECT_TRUE(good) << known.id << " claims " << answer.value << " for " << known.exact;
      EXPECT_LE(std::fabs(answer.value - known.exact), answer.error() + 4 * unit * std::fabs(known.exact))
          << known.id;
      EXPECT_FALSE(answer.why.empty()) << known.id;
    }
    if (good && answer.converged()) ++right;
    else ADD_FAILURE() << known.id << ": " << words(answer) << ", " << answer.value << " for " << known.exact;
    EXPECT_LT(answer.evaluations, 50'000) << known.id;
  }
  EXPECT_EQ(right, all.size());
}

struct Trap {
  const char* name;
  Integrand f;
  Range range;
  double exact;
};

TEST(Automatic, SolvesWhatHasTrappedOthers) {
  const std::vector<Trap> traps = {
      {"a bell far from its limit",
       plain([](double x) { return std::exp(-x * x); }),
       {-infinity, 38},
       std::sqrt(pi)},
      {"a wide range", plain([](double x) { return 0.5 * std::exp(-std::fabs(x)); }), {-1e8, 1e8}, 1},
      {"a wide range, off its middle",
       plain([](double x) { return 0.5 * std::exp(-std::fabs(x - 12345.678)); }),
       {-1e8, 1e8},
       1},
      {"a wave in step with the points",
       plain([](double x) { return std::sin(x) * std::sin(x); }),
       {0, 2 * pi},
       pi},
      {"a needle on a plain",
       plain([](double x) { return 1 + std::exp(-std::pow((x - 0.7123) * 1e4, 2)); }),
       {0, 1},
       1 + 1e-4 * std::sqrt(pi)},
      {"two bells",
       plain([](double x) { return std::exp(-std::pow(x - 100, 2)) + std::exp(-std::pow(x + 3000, 2)); }),
       {-infinity, infinity},
       2 * std::sqrt(pi)},
      {"a heavy tail", plain([](double x) { return std::pow(x, -1.1); }), {1, infinity}, 10},
      {"a pole beyond the upper end",
       with_distance([](double, double d) { return std::pow(d < 0 ? -d : 1 - d, -0.8); }),
       {0, 1},
       5},
      {"a root of a logarithm",
       plain([](double x) { return 1 / std::sqrt(-std::log1p(-x)); }),
       {0, 1},
       std::sqrt(pi)},
      {"a hole that can be filled",
       plain([](double x) { return std::sin(x) / x; }),
       {-1, 1},
       1.8921661407343660299},
      {"jumps", plain([](double x) { return std::floor(x); }), {0, 10.5}, 50},
      {"fifty kinks", plain([](double x) { return std::fabs(std::sin(50 * x)); }), {0, pi}, 2},
      {"ever faster swings",
       plain([](double x) { return std::cos(x * x); }),
       {0, infinity},
       std::sqrt(pi / 8)},
      {"ever faster swings both ways",
       plain([](double x) { return std::cos(x * x); }),
       {-infinity, infinity},
       std::sqrt(pi / 2)},
      {"a long scale", plain([](double x) { return std::exp(-x / 1e6); }), {0, infinity}, 1e6},
      {"a short scale", plain([](double x) { return std::exp(-x * 1e6); }), {0, infinity}, 1e-6},
      {"wild but smooth",
       plain([](double x) { return x * std::sin(2 * std::exp(2 * std::sin(2 * std::exp(2 * x)))); }),
       {-1, 1},
       0.33673283478172753599},
      {"limits exchanged", plain([](double x) { return std::exp(x); }), {1, 0}, 1 - std::exp(1.0)}};
  for (const Trap& trap : traps) {
    const Answer answer = automatic(trap.f, trap.range);
    EXPECT_TRUE(answer.converged()) << trap.name << ": " << words(answer);
    EXPECT_TRUE(near(answer.value, trap.exact, 1e-10))
        << trap.name << ": " << answer.value << " for " << trap.exact;
  }
}

struct Refusal {
  const char* name;
  Integrand f;
  Range range;
  std::vector<Reason> reasons;
};

TEST(Automatic, VouchesForNothingThatItCannotKnow) {
  using enum Reason;
  const std::vector<Refusal> all = {
      {"1/x", plain([](double x) { return 1 / x; }), {0, 1}, {diverges}},
      {"1/x across 0", plain([](double x) { return 1 / x; }), {-1, 1}, {diverges}},
      {"1/x across 0, uneven", plain([](double x) { return 1 / x; }), {-1, 2}, {diverges}},
      {"a pole inside", plain([](double x) { return 1 / (x - 0.3); }), {0, 1}, {diverges, may_diverge}},
      {"a double pole inside",
       plain([](double x) { return 1 / ((x - 0.3) * (x - 0.3)); }),
       {0, 1},
       {diverges}},
      {"tan", plain([](double x) { return std::tan(x); }), {0, pi}, {diverges}},
      {"a constant for ever", plain([](double) { return 1.0; }), {0, infinity}, {diverges}},
      {"a wave for ever", plain([](double x) { return std::sin(x); }), {0, infinity}, {diverges}},
      {"a wave that fades to a wave",
       plain([](double x) { return std::sin(x) * (1 + 10 / (1 + x)); }),
       {0, infinity},
       {diverges}},
      {"barely integrable",
       plain([](double x) { return std::pow(x, -1.001); }),
       {1, infinity},
       {singular, diverges}},
      {"slowly integrable",
       plain([](double x) { return 1 / (x * std::log(x) * std::log(x)); }),
       {0, 0.5},
       {singular}},
      {"slowly divergent",
       plain([](double x) { return 1 / (x * std::log(x)); }),
       {0, 0.5},
       {Reason::may_diverge}},
      {"rounded away at the upper end",
       plain([](double x) { return std::pow(1 - x, -0.8); }),
       {0, 1},
       {singular, roundoff}},
      {"zeros wherever one looks",
       plain([](double x) { return x > 0.71231 && x < 0.71233 ? 1.0 : 0.0; }),
       {0, 1},
       {doubtful}},
      {"no value on a half", plain([](double x) { return std::sqrt(-x); }), {-1, 1}, {non_finite}},
      {"overflow", plain([](double x) { return std::exp(x * x); }), {0, 30}, {non_finite, diverges}},
      {"noise",
       plain([](double x) { return 1 + 1e-7 * std::sin(1e9 * x); }),
       {0, 1},
       {evaluations, doubtful}},
      {"too fast a wave",
       plain([](double x) { return std::pow(std::sin(1e6 * x), 2); }),
       {0, 1},
       {evaluations, unresolved, doubtful}},
      {"a wave that gathers",
       plain([](double x) { return std::sin(1 / x); }),
       {0, 1},
       {evaluations, unresolved, doubtful, singular}},
      {"an answer of 0", plain([](double x) { return x * x * x; }), {-1, 1}, {roundoff}}};
  for (const Refusal& refusal : all) {
    const Answer answer = automatic(refusal.f, refusal.range);
    EXPECT_NE(std::find(refusal.reasons.begin(), refusal.reasons.end(), answer.reason), refusal.reasons.end())
        << refusal.name << ": " << words(answer) << ", " << answer.value;
  }
}

TEST(Automatic, TakesAZeroWithAnAbsoluteTolerance) {
  const Answer answer =
      automatic(plain([](double x) { return x * x * x; }), {-1, 1}, {.relative = 0, .absolute = 1e-12});
  EXPECT_TRUE(answer.converged()) << words(answer);
  EXPECT_LE(std::fabs(answer.value), 1e-12);
}

TEST(Automatic, NeverExceedsItsCaps) {
  const Integrand noise = plain([](double x) { return std::sin(1e12 * std::sin(1e12 * x)); });
  const Answer few = automatic(noise, {0, 1}, {}, {.evaluations = 30'000});
  EXPECT_LE(few.evaluations, 30'000);
  EXPECT_FALSE(few.converged());
  const auto start = std::chrono::steady_clock::now();
  const Answer brief =
      automatic(noise, {0, infinity}, {}, {.evaluations = 1'000'000'000'000, .seconds = 0.05});
  EXPECT_LT(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(), 2);
  EXPECT_FALSE(brief.converged());
}

TEST(Automatic, RangesOfAnyLength) {
  const Integrand bell = plain([](double x) { return std::exp(-x * x); });
  for (const double end : {1e3, 1e9, 1e100, 1e250, 1e290, 1e300, 8e307}) {
    const Answer answer = automatic(bell, {-end, end});
    EXPECT_TRUE(!answer.converged() || near(answer.value, std::sqrt(pi), 1e-10))
        << end << ": " << answer.value;
    EXPECT_TRUE(answer.converged() || end > 1e200) << end << ": " << words(answer);
  }
  EXPECT_THROW(automatic(bell, {-1e308, 1e308}), Error);
  const Answer tiny = automatic(plain([](double) { return 1e300; }), {1e-320, 1e-310}, {}, {.seconds = 1});
  EXPECT_TRUE(!tiny.converged() || near(tiny.value, 1e300 * (1e-310 - 1e-320), 1e-10));
}

TEST(Automatic, UsesKnownBreaks) {
  const Integrand f = plain([](double x) { return std::fabs(x - 1 / pi); });
  const double breaks[] = {1 / pi, 7};
  const Answer answer = automatic(f, {0, 1}, {.relative = 1e-13}, {}, breaks);
  EXPECT_TRUE(answer.converged());
  EXPECT_STREQ(answer.rule, "tanh-sinh");
  EXPECT_TRUE(near(answer.value, (1 / pi / pi + std::pow(1 - 1 / pi, 2)) / 2, 1e-13));
}

TEST(Automatic, RefusesWhatMakesNoSense) {
  const Integrand f = plain([](double x) { return x; });
  EXPECT_THROW(automatic(f, {nothing, 1}), Error);
  EXPECT_THROW(automatic(f, {0, nothing}), Error);
  EXPECT_THROW(automatic(f, {0, 1}, {.relative = -1}), Error);
  EXPECT_THROW(automatic(f, {0, 1}, {.relative = nothing}), Error);
  EXPECT_THROW(automatic(f, {0, 1}, {.relative = 0, .absolute = 0}), Error);
  EXPECT_THROW(automatic(f, {0, 1}, {}, {.evaluations = 0}), Error);
  const Answer nowhere = automatic(f, {1, 1});
  EXPECT_TRUE(nowhere.converged());
  EXPECT_EQ(nowhere.value, 0);
}

TEST(TanhSinh, NeedsFewPointsForTheCircle) {
  const Answer answer =
      tanh_sinh(plain([](double x) { return std::sqrt(1 - x * x); }), {0, 1}, {.relative = 1e-12});
  EXPECT_TRUE(answer.converged());
  EXPECT_LE(answer.evaluations, 147);
  EXPECT_TRUE(near(answer.value, pi / 4, 1e-15));
}

TEST(TanhSinh, TellsTheDistanceExactly) {
  const Range range{3, 4};
  bool told = true;
  const Integrand f{[&](std::span<const double> x, std::span<const double> distance, std::span<double> y) {
                      for (std::size_t i = 0; i < x.size(); ++i) {
                        y[i] = 1;
                        told = told && x[i] == (distance[i] >= 0 ? 3 + distance[i] : 4 + distance[i]);
                      }
                    },
                    {true, true}};
  const Answer answer = tanh_sinh(f, range, {.relative = 1e-13});
  EXPECT_TRUE(told);
  EXPECT_TRUE(near(answer.value, 1, 1e-14));
}

template <std::size_t half>
double moment(const KronrodNodes<half>& nodes, int power, bool kronrod) {
  double sum = 0;
  for (std::size_t i = 0; i < half; ++i) {
    const double weight = kronrod ? nodes.kronrod[i] : i % 2 == 1 ? nodes.gauss[i / 2] : 0;
    sum += (nodes.x[i] == 0 ? 1 : 2) * weight * std::pow(nodes.x[i], power);
  }
  return sum;
}

TEST(GaussKronrod, NodesAreExactForPolynomials) {
  for (int power = 0; power <= 22; power += 2)
    EXPECT_NEAR(moment(kronrod15, power, true), 2.0 / (power + 1), 1e-15);
  for (int power = 0; power <= 12; power += 2)
    EXPECT_NEAR(moment(kronrod15, power, false), 2.0 / (power + 1), 1e-15);
  for (int power = 0; power <= 30; power += 2)
    EXPECT_NEAR(moment(kronrod21, power, true), 2.0 / (power + 1), 1e-15);
  for (int power = 0; power <= 18; power += 2)
    EXPECT_NEAR(moment(kronrod21, power, false), 2.0 / (power + 1), 1e-15);
  EXPECT_GT(std::fabs(moment(kronrod21, 34, true) - 2.0 / 35), 1e-13);
}

TEST(GaussKronrod, SeesAJumpBehindItsOutermostPoint) {
  int claims = 0;
  for (int i = 0; i < 200; ++i) {
    const double jump = 0.3 + 0.001 * i;
    const Answer answer =
        gauss_kronrod(plain([&](double x) { return x < jump ? 1.0 : 0.0; }), {0, 1}, {.relative = 1e-8});
    if (!answer.converged()) continue;
    ++claims;
    EXPECT_TRUE(near(answer.value, jump, 1e-8)) << jump << ": " << answer.value - jump;
  }
  EXPECT_GT(claims, 150);
}

TEST(GaussKronrod, ServesInfiniteRanges) {
  const Integrand bell = plain([](double x) { return std::exp(-x * x); });
  for (const Range& range : {Range{-infinity, infinity}, Range{0, infinity}, Range{-infinity, 0}}) {
    const Answer answer = gauss_kronrod(bell, range);
    EXPECT_TRUE(answer.converged());
    EXPECT_TRUE(near(answer.value,
                     std::sqrt(pi) / (std::isinf(range.lower) && std::isinf(range.upper) ? 1 : 2), 1e-10));
  }
}

TEST(Trapezoid, ReadsTheExponentOfAnEnd) {
  const Answer circle =
      trapezoid(plain([](double x) { return std::sqrt(1 - x * x); }), {0, 1}, {.relative = 1e-12});
  EXPECT_TRUE(circle.converged());
  EXPECT_TRUE(near(circle.value, pi / 4, 1e-12)) << circle.value - pi / 4;
  EXPECT_EQ(circle.exponent, 1.5);
  EXPECT_LT(circle.evaluations, 5000);
  const Answer smooth = trapezoid(plain([](double x) { return std::exp(x); }), {0, 1});
  EXPECT_EQ(smooth.exponent, 2);
  EXPECT_TRUE(near(smooth.value, std::exp(1.0) - 1, 1e-10));
  const Answer root = trapezoid(plain([](double x) { return 1 / std::sqrt(x); }), {0, 1});
  EXPECT_EQ(root.exponent, 0.5);
  EXPECT_TRUE(near(root.value, 2, 1e-10));
}

TEST(Trapezoid, ClaimsNothingWrong) {
  for (const Known& known : known_integrals()) {
    if (!known.range.finite()) continue;
    for (const auto rule : {trapezoid, simpson}) {
      const Answer answer = rule(known.f, known.range, {.relative = 1e-8}, {.evaluations = 200'000});
      EXPECT_TRUE(!answer.converged() || near(answer.value, known.exact, 1e-8))
          << answer.rule << " " << known.id;
    }
  }
}

TEST(Samples, WhoseDistancesHaveNoSquares) {
  const std::vector<double> far{-1e308, 0, 1e308, 1.2e308, 1.7e308}, y{0, 1, 4, 9, 16};
  EXPECT_TRUE(std::isinf(simpson_of(far, y).value)) << "too large, and no NaN";
  EXPECT_TRUE(std::isinf(trapezoid_of(far, y).value));
  for (const double scale : {0x1p-700, 0x1p700}) {
    std::vector<double> x, squares;
    for (int i = 0; i < 6; ++i) {
      x.push_back(scale * i * i);
      squares.push_back(double(i) * i);  // y = x / scale
    }
    EXPECT_NEAR(simpson_of(x, squares).value / scale, 25 * 25 / 2., 1e-10);
  }
}

TEST(Samples, FollowParabolasAtAnyAbscissae) {
  std::vector<double> x, y;
  for (int i = 0; i < 12; ++i) x.push_back(i + 0.3 * std::sin(i));
  for (const double at : x) y.push_back(3 * at * at - 2 * at + 1);
  const auto antiderivative = [](double at) { return at * at * at - at * at + at; };
  for (std::size_t n : {3u, 4u, 5u, 11u, 12u}) {
    const Answer answer = simpson_of({x.data(), n}, {y.data(), n});
    EXPECT_TRUE(near(answer.value, antiderivative(x[n - 1]) - antiderivative(x[0]), 1e-13)) << n;
  }
  const Answer lines = trapezoid_of(x, y);
  const double exact = antiderivative(x.back()) - antiderivative(x.front());
  EXPECT_GT(std::fabs(lines.value - exact), 1e-3);
  EXPECT_GE(lines.truncation, std::fabs(lines.value - exact));
  EXPECT_EQ(trapezoid_of(std::vector<double>{0, 1}, std::vector<double>{2, 4}).value, 3);
  EXPECT_THROW(trapezoid_of(std::vector<double>{0, 0}, std::vector<double>{2, 4}), Error);
  EXPECT_THROW(simpson_of(std::vector<double>{0, 1}, std::vector<double>{2}), Error);
  EXPECT_EQ(simpson_of(std::vector<double>{0, 1, 2}, std::vector<double>{2, nothing, 1}).reason,
            Reason::non_finite);
}

}  // namespace
}  // namespace tessera::quadrature
