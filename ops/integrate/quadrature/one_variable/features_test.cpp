// SPDX-License-Identifier: Apache-2.0
// Narrow features: `auto` finds those that a part of the formula marks, and never misses one that is wider
// than the width it names.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <cmath>
#include <numbers>
#include <random>
#include <string>
#include "ops/integrate/quadrature/one_variable/auto.hpp"
#include "ops/integrate/quadrature/formula/formula_integrand.hpp"
#include "tessera/formula/tree.hpp"

namespace tessera::quadrature::features {
namespace {

constexpr double pi = std::numbers::pi;
const double root_pi = std::sqrt(pi);

struct Case {
  std::string formula;
  Range range;
  double exact;
};

Answer answer_of(const Case& one) {
  return automatic(integrand_of(formula::parse(one.formula), "x", one.range), one.range);
}

std::string text_of(const Case& one, const Answer& answer) {
  return fmt::format("{} from {} to {}: {:.17g} ± {:.2g}, exact {:.17g}, {}", one.formula, one.range.lower,
                     one.range.upper, answer.value, answer.error(), one.exact, reason_text(answer));
}

bool right(const Case& one, const Answer& answer) {
  const double off = std::fabs(answer.value - one.exact), spare = 64 * unit * std::fabs(one.exact);
  return off <= answer.error() + spare && off <= 1e-10 * std::fabs(one.exact) + spare;
}

class Random {
 public:
  explicit Random(unsigned seed) : random_(seed) {}
  double number(double from, double to) { return std::uniform_real_distribution<double>(from, to)(random_); }
  double size(double from, double to) { return std::exp(number(std::log(from), std::log(to))); }
  int below(int n) { return std::uniform_int_distribution<int>(0, n - 1)(random_); }

 private:
  std::mt19937 random_;
};

// Adds a feature at `place` of the given width and height to the formula and to its integral.
void add_feature(Random& random, Case& to, double place, double width, double height) {
  const std::string u = random.below(2) == 0 ? fmt::format("(x-({:.17g}))/{:.17g}", place, width)
                                             : fmt::format("{:.17g}*({:.17g}-x)", 1 / width, place);
  const double a = (to.range.lower - place) / width, b = (to.range.upper - place) / width;
  struct Shape {
    std::string text;
    double integral;  // over u
  };
  const Shape shapes[] = {
      {"exp(-({})^2)", std::sqrt(pi) / 2 * (std::erf(b) - std::erf(a))},
      {"1/(1+({})^2)", std::atan(b) - std::atan(a)},
      {"1/cosh({})^2", std::tanh(b) - std::tanh(a)},
      {"exp(-abs({}))", 2 - std::exp(a) - std::exp(-b)},
  };
  Shape shape = shapes[random.below(4)];
  shape.text.replace(shape.text.find("{}"), 2, u);
  to.formula += fmt::format("+{:.17g}*{}", height, shape.text);
  to.exact += height * width * shape.integral;
}

TEST(Features, AFaintPoleWhereALinearPartIsZeroDiverges) {
  for (const char* const formula : {"1e-14/(x-0.3)^2+1", "1e-14/(x-0.375)^2+1"})
    EXPECT_EQ(answer_of({formula, {0, 1}, 0}).reason, Reason::diverges) << formula;
}

TEST(Features, OfLinearArgumentsAreFound) {
  constexpr int cases = 300;
  Random random(20'261'129);
  int converged = 0, wrong = 0;
  for (int i = 0; i < cases; ++i) {
    const double length = random.size(1e-2, 1e3), lower = random.number(-1, 1) * length;
    Case one{"1", {lower, lower + length}, length};
    for (int features = 2 + random.below(3); features > 0; --features) {
      const double width = random.size(1e-4, 1e-1);
      add_feature(random, one, lower + random.number(0.02, 0.98) * length, width * length,
                  random.size(0.1, 10) / width);
    }
    const Answer answer = answer_of(one);
    converged += answer.converged() && right(one, answer);
    wrong += answer.converged() && !right(one, answer);
    if (!answer.converged() || !right(one, answer)) fmt::print("{}\n", text_of(one, answer));
  }
  EXPECT_LE(wrong, 1);
  EXPECT_GE(converged, cases * 95 / 100);
}

TEST(Features, OfInfiniteRangesAreFound) {
  constexpr int cases = 300;
  Random random(4);
  int converged = 0, wrong = 0;
  for (int i = 0; i < cases; ++i) {
    Case one{"exp(-x^2)", {-infinity, infinity}, root_pi};
    for (int features = 1 + random.below(3); features > 0; --features) {
      const double place = (random.below(2) == 0 ? 1 : -1) * random.size(0.1, 1e5);
      const double width = random.size(1e-6, 0.03) * std::fabs(place);
      add_feature(random, one, place, width, random.size(0.1, 10) / width);
    }
    const Answer answer = answer_of(one);
    converged += answer.converged() && right(one, answer);
    wrong += answer.converged() && !right(one, answer);
    if (!answer.converged() || !right(one, answer)) fmt::print("{}\n", text_of(one, answer));
  }
  EXPECT_LE(wrong, 1);
  EXPECT_GE(converged, cases * 95 / 100);
}

TEST(Features, ThatPartsOfTheFormulaMarkAreFound) {
  for (const Case& one : std::vector<Case>{
           {"exp(-x^2)+exp(-(x-25)^2)", {-infinity, infinity}, 2 * root_pi},
           {"exp(-x^2)+exp(-(x-25000)^2)", {-infinity, infinity}, 2 * root_pi},
           {"exp(-x^2)+exp(-((x^2-640000)/2)^2)", {-infinity, infinity}, root_pi * (1 + 2.0 / 800)},
           {"1+exp(-((x-0.618)/1e-5)^2)*1e5", {0, 1}, 1 + root_pi},
           {"exp(1400*exp(-640*(x-2))-0.79/(x-2))/x^2", {2, infinity}, 0.8643996776598960},
           {"exp(1351*exp(-640*(x-2))-0.7506/(x-2))/x^2", {2, infinity}, 918.6610901639}}) {
    const Answer answer = answer_of(one);
    EXPECT_TRUE(answer.converged()) << text_of(one, answer);
    EXPECT_NEAR(answer.value, one.exact, 1e-10 * one.exact) << text_of(one, answer);
  }
}

// No part of the formula tells the place of a callable's peak.
TEST(Features, OfCallablesAreNotWiderThanTheWidth) {
  Random random(7);
  int missed = 0;
  for (int i = 0; i < 3000; ++i) {
    const bool endless = i % 3 == 2;
    const Range range = endless ? Range{-infinity, infinity} : Range{0, 1};
    const double place = endless ? random.size(1, 1e5) : random.number(0, 1);
    const double width = random.size(1e-4, 1) * (endless ? place : 0.3);  // half of it, at half the height
    const double scale = width / std::sqrt(std::numbers::ln2);
    const auto f = [&](double x) {
      const double u = (x - place) / scale;
      return (endless ? std::exp(-x * x) : 1) + std::exp(-u * u) / scale;
    };
    const double peak =
        endless ? root_pi : root_pi / 2 * (std::erf((1 - place) / scale) + std::erf(place / scale));
    const Case one{"a callable", range, peak + (endless ? root_pi : 1)};
    const Answer answer = automatic(plain(f), range);
    if (!answer.converged() || right(one, answer)) continue;
    ++missed;
    EXPECT_LT(2 * width, answer.width * (endless ? place : 1)) << place << ": " << text_of(one, answer);
  }
  EXPECT_GT(missed, 100);  // the test would not fail if none were narrow enough
}

}  // namespace
}  // namespace tessera::quadrature::features
