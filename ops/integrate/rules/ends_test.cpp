// SPDX-License-Identifier: Apache-2.0
// What lies nearer to the ends than any point is part of the error of an answer in several variables.
#include <gtest/gtest.h>
#include <cmath>
#include <numbers>
#include "ops/integrate/rules/by_name.hpp"
#include "ops/integrate/rules/cubature.hpp"
#include "ops/integrate/rules/formula_integrand.hpp"

namespace tessera::quadrature {
namespace {

Answer over(const char* text, const Range& x, const Range& y, double relative) {
  return automatic_cubature(many_values_of(formula::parse(text), {"x", "y"}), {{x, y}},
                            {.relative = relative});
}

TEST(Ends, AreNotClaimedWhereTooMuchIsHidden) {
  struct Tried {
    const char* text;
    Range x, y;
    double relative, exact;
  };
  for (const Tried& t :
       {Tried{"x^-0.9*y^-0.9", {0, 1}, {0, 1}, 1e-3, 100},
        Tried{"(1-x)^-0.9*(1-y)^-0.9", {0, 1}, {0, 1}, 1e-2, 100},
        Tried{"1/(x*log(x)^2)*y", {0, 0.5}, {0, 1}, 1e-3, 0.5 / std::numbers::ln2},
        Tried{"1/(1+x^2+y^2)^1.1", {-infinity, infinity}, {-infinity, infinity}, 1e-2, 10 * std::numbers::pi},
        Tried{"x^-1.1*y^0", {1, infinity}, {0, 1}, 1e-3, 10}}) {
    const Answer answer = over(t.text, t.x, t.y, t.relative);
    EXPECT_FALSE(answer.converged()) << t.text << " " << answer.value;
    EXPECT_LE(std::fabs(answer.value - t.exact), answer.error()) << t.text << " " << answer.value;
  }
}

TEST(Ends, TellWhatDiverges) {
  for (const char* text : {"1/(x^2+y^2)", "x/y", "1/(x*y)"})
    EXPECT_EQ(over(text, {0, 1}, {0, 1}, 1e-3).reason, Reason::diverges) << text;
  // Integrable, or at least not surely infinite.
  const Answer swings = over("sin(x)/x*exp(-y)", {0, infinity}, {0, infinity}, 1e-3);
  EXPECT_FALSE(swings.converged());
  EXPECT_NE(swings.reason, Reason::diverges);
}

TEST(Ends, HideLittleOfMildSingularities) {
  const auto near = [](const Answer& answer, double exact) {
    EXPECT_TRUE(answer.converged()) << words(answer);
    EXPECT_LE(std::fabs(answer.value - exact), std::fmax(answer.error(), 1e-12 * exact));
  };
  near(over("x^-0.5*y^-0.5", {0, 1}, {0, 1}, 1e-6), 4);
  near(over("exp(-x-y)/sqrt(x*y)", {0, infinity}, {0, infinity}, 1e-6), std::numbers::pi);
  near(over("1/(1-x*y)", {0, 1}, {0, 1}, 1e-6), std::numbers::pi * std::numbers::pi / 6);
  near(over("1/(1+x^2+y^2)^2", {-infinity, infinity}, {-infinity, infinity}, 1e-6), std::numbers::pi);
}

// Kinks and jumps, where two steps may agree by chance.
TEST(Ends, StepsThatAgreeByChanceAreNotBelieved) {
  const auto honest = [](const Answer& answer, double exact) {
    EXPECT_LE(std::fabs(answer.value - exact), answer.error()) << answer.value;
  };
  honest(over("sqrt(max(0,1-x^2-y^2))", {0, 1}, {0, 1}, 1e-3), std::numbers::pi / 6);
  honest(over("x^2+y^2<1", {0, 1}, {0, 1}, 1e-3), std::numbers::pi / 4);
}

// Every rule of four variables: what is hidden at strong ends is told, and a claim keeps to it.
TEST(Ends, OfFourVariables) {
  struct Tried {
    const char* text;
    double exact;
  };
  const Box box{{{0, 1}, {0, 1}, {0, 1}, {0, 1}}};
  int claims = 0;
  for (const Tried& t : {Tried{"(x*y*z*w)^-0.9", 1e4}, Tried{"x^-0.9*(1+y+z+w)/2.5", 10},
                         Tried{"(1-x)^-0.9*(1+y+z+w)/2.5", 10}, Tried{"(x*y*z*w)^-0.8", 625},
                         Tried{"(x*y*z*w)^-0.5", 16}, Tried{"(1+x)*(y+z)*w^2", 0.5}})
    for (const char* rule : {"auto", "genz_malik", "quasi_random", "vegas"}) {
      const ManyValues f = many_values_of(formula::parse(t.text), {"x", "y", "z", "w"});
      const Answer answer =
          by_name(rule, f, box, {.relative = 0.1}, {.evaluations = 1'000'000, .seconds = 60}, {}, 2, 1);
      EXPECT_FALSE(std::fabs(answer.value - t.exact) > answer.error())
          << t.text << " by " << rule << ": " << answer.value << " +- " << answer.error() << ", "
          << words(answer);
      claims += answer.converged();
    }
  EXPECT_GE(claims, 10);
  const Answer infinite = by_name("vegas", many_values_of(formula::parse("1/x+y+z+w"), {"x", "y", "z", "w"}),
                                  box, {.relative = 0.5}, {.evaluations = 1'000'000, .seconds = 60}, {}, 2, 1);
  EXPECT_FALSE(infinite.converged());
  EXPECT_TRUE(std::isinf(infinite.error()));
}

}  // namespace
}  // namespace tessera::quadrature
