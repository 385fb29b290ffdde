// SPDX-License-Identifier: Apache-2.0
// What lies nearer to the ends than any point is part of the error of an answer in several variables.
#include <fmt/format.h>
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

// A line within the box, where numbers lie further apart than they do beside 0: what is nearer is told.
TEST(Ends, AreAlsoBesideLinesWithinTheBox) {
  for (const double at : {0.969, 0.3, 0.71234567, 0.5})
    for (const double power : {0.9, 0.8, 0.5}) {
      const std::vector<std::string> variables{"x", "y"};
      const formula::Tree tree = formula::parse(fmt::format("2*x/abs(y-{})^{}", at, power));
      Box box{{{0, 1}, {0, 1}}};
      box.features = features_of(tree, variables, box);
      const double exact = (std::pow(at, 1 - power) + std::pow(1 - at, 1 - power)) / (1 - power);
      const Answer answer = automatic_cubature(many_values_of(tree, variables), box, {.relative = 1e-4},
                                               {.evaluations = 1'000'000, .seconds = 60});
      EXPECT_LE(std::fabs(answer.value - exact), answer.error()) << at << " " << power << " " << answer.value;
      EXPECT_EQ(answer.converged(), power == 0.5) << at << " " << power << " " << words(answer);
    }
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
  const Answer infinite =
      by_name("vegas", many_values_of(formula::parse("1/x+y+z+w"), {"x", "y", "z", "w"}), box,
              {.relative = 0.5}, {.evaluations = 1'000'000, .seconds = 60}, {}, 2, 1);
  EXPECT_FALSE(infinite.converged());
  EXPECT_TRUE(std::isinf(infinite.error()));
}

// Beside each side of the box these are harmless: only where several axes end at once |f| grows so fast. The
// exact values are sums of powers of whole numbers, by as many antiderivatives of s^-p as there are axes.
TEST(Ends, OfSeveralAxesAtOnce) {
  struct Tried {
    const char* text;
    double exact;  // infinite: there is none
  };
  for (const Tried& t :
       {Tried{"1/(x+y+z+w)^4", infinity}, Tried{"(5-x-y-z-w-1)^-4", infinity},
        Tried{"1/(x+y)^2*(z+w)", infinity}, Tried{"(x^2+y^2+z^2)^-1.5+w", infinity},
        Tried{"1/(x+y+z+w)^3.99", 16.78087385715942}, Tried{"1/(x+y+z+w)^3.9", 1.784943669935115},
        Tried{"1/(x+y+z+w)^3.5", 0.47244997977273284}, Tried{"1/(x+y)^1.9*(z+w)", 10.313628194041181}})
    for (const char* rule : {"auto", "genz_malik", "quasi_random", "vegas"})
      for (const double relative : {0.1, 1e-2}) {
        const ManyValues f = many_values_of(formula::parse(t.text), {"x", "y", "z", "w"});
        const Answer answer = by_name(rule, f, {{{0, 1}, {0, 1}, {0, 1}, {0, 1}}}, {.relative = relative},
                                      {.evaluations = 1'000'000, .seconds = 60}, {}, 2, 1);
        const std::string told = fmt::format("{} by {} to {}: {} +- {}, {}", t.text, rule, relative,
                                             answer.value, answer.error(), words(answer));
        if (!answer.converged()) continue;
        EXPECT_FALSE(std::isinf(t.exact)) << told;
        EXPECT_LE(std::fabs(answer.value - t.exact), answer.error()) << told;
      }
  const Answer five =
      automatic_cubature(many_values_of(formula::parse("1/(x+y+z+u+v)^5"), {"x", "y", "z", "u", "v"}),
                         {{{0, 1}, {0, 1}, {0, 1}, {0, 1}, {0, 1}}}, {.relative = 0.1});
  EXPECT_EQ(five.reason, Reason::may_diverge) << words(five);
  EXPECT_EQ(five.place, (std::vector<double>{0, 0, 0, 0, 0}));
}

TEST(Ends, OfSeveralAxesThatAreMildAreClaimed) {
  for (const char* text :
       {"1/(x+y+z+w)^2", "log(x+y+z+w)", "sqrt(x*y*z*w)", "exp(x+y+z+w)", "1/(1+x+y+z+w)^4"}) {
    const ManyValues f = many_values_of(formula::parse(text), {"x", "y", "z", "w"});
    const Answer answer = automatic_cubature(f, {{{0, 1}, {0, 1}, {0, 1}, {0, 1}}}, {.relative = 1e-4});
    EXPECT_TRUE(answer.converged()) << text << ": " << words(answer);
  }
}

// It has an integral, 500, however near to the inverse distance it comes.
TEST(Ends, APowerThatHardlyFallsIsNotSaidToDiverge) {
  for (const char* text : {"x^-0.999*y", "x^-0.9999*y"}) {
    const Answer answer = over(text, {0, 1}, {0, 1}, 1e-3);
    EXPECT_FALSE(answer.converged()) << text;
    EXPECT_NE(answer.reason, Reason::diverges) << text << ": " << words(answer);
  }
}

}  // namespace
}  // namespace tessera::quadrature
