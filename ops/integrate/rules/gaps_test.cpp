// SPDX-License-Identifier: Apache-2.0
// Integrands of several variables that have no value in a part of the box, or none at single places.
#include <gtest/gtest.h>
#include <cmath>
#include "ops/integrate/integrate_call.hpp"
#include "ops/integrate/rules/by_name.hpp"
#include "ops/integrate/rules/cubature.hpp"
#include "ops/integrate/rules/formula_integrand.hpp"
#include "tessera/core/operation.hpp"
#include "tessera/run/run.hpp"

namespace tessera::quadrature {
namespace {

struct Tried {
  const char* text;
  std::vector<std::string> variables;
  double relative;
};

const Tried gaps[] = {{"sqrt(x-y)", {"x", "y"}, 1e-3},           {"log(x-y)", {"x", "y"}, 1e-3},
                      {"sqrt(x-0.5)*y", {"x", "y"}, 1e-4},       {"asin(2*x)*y", {"x", "y"}, 1e-4},
                      {"log(x-0.5)+y+z", {"x", "y", "z"}, 1e-4}, {"sqrt(x-0.5)+y+z", {"x", "y", "z"}, 1e-4}};

Answer answer_to(const Tried& t, const std::string& rule) {
  const Box box{std::vector<Range>(t.variables.size(), Range{0, 1})};
  return by_name(rule, many_values_of(formula::parse(t.text), t.variables), box, {.relative = t.relative},
                 usual_cubature_limits, {}, 2, 1, {}, {});
}

TEST(Gaps, NoRuleMakesUpValues) {
  for (const Tried& t : gaps)
    for (const char* rule : {"auto", "tanh_sinh", "genz_malik", "quasi_random", "vegas"}) {
      const Answer answer = answer_to(t, rule);
      EXPECT_EQ(answer.reason, Reason::non_finite) << t.text << " by " << rule;
      EXPECT_TRUE(std::isnan(answer.value)) << t.text << " by " << rule;
      EXPECT_NE(words(answer).find("non-finite value at x = "), std::string::npos) << words(answer);
      EXPECT_NE(words(answer).find(", y = "), std::string::npos) << words(answer);
    }
}

TEST(Gaps, OfACallToo) {
  const Answer answer =
      integrate([](double x, double y) { return std::sqrt(x - y); }, {{0, 1}, {0, 1}}, {.relative = 1e-3});
  EXPECT_EQ(answer.reason, Reason::non_finite) << words(answer);
}

TEST(Gaps, ThreadsDoNotChangeThePlace) {
  const auto f = many_values_of(formula::parse("sqrt(x-y)"), {"x", "y"});
  const auto place = [&](const char* rule, int threads) {
    return by_name(rule, f, {{{0, 1}, {0, 1}}}, {.relative = 1e-3}, usual_cubature_limits, {}, threads, 1, {},
                   {})
        .place;
  };
  for (const char* rule : {"tanh_sinh", "genz_malik", "quasi_random", "vegas"})
    EXPECT_EQ(place(rule, 1), place(rule, 3)) << rule;
}

// 0/0 on a line, 0·inf at an end and far out take nothing from an integral.
TEST(Gaps, SinglePlacesAreNone) {
  const auto value = [](const char* text, const Box& box) {
    const Answer answer = automatic_cubature(many_values_of(formula::parse(text), {"x", "y"}), box);
    EXPECT_TRUE(answer.converged()) << text << ": " << words(answer);
    return answer.value;
  };
  EXPECT_NEAR(value("sin(x)/x*y", {{{-1, 1}, {0, 1}}}), 0.946083070367183, 1e-6);
  EXPECT_NEAR(value("x*log(x)*y", {{{0, 1}, {0, 1}}}), -0.125, 1e-7);
  EXPECT_NEAR(value("exp(x)*exp(-2*x)*y", {{{0, infinity}, {0, 1}}}), 0.5, 1e-6);
  const double half_gamma = 0.5 * std::tgamma(20.5);
  EXPECT_NEAR(value("x^40*exp(-x^2)*exp(-y)", {{{0, infinity}, {0, infinity}}}), half_gamma,
              1e-6 * half_gamma);
}

std::string reason_on(const std::string& device, const std::string& rule, const char* formula) {
  const Operation& operation = *find_operation("integrate");
  Arguments arguments{operation.signature,
                      Element::f64,
                      {},
                      {{"FORMULA", formula},
                       {"LIMITS", "u=[0,1] v=[0,1]"},
                       {"rule", rule},
                       {"relative", "1e-3"},
                       {"most-evaluations", "200000"}}};
  return std::get<std::string>(run(operation, arguments, {.device = device}).values.at("reason"));
}

TEST(Gaps, TheExecutorGivesTheSameReason) {
  for (const char* rule : {"genz_malik", "vegas"})
    for (const char* formula : {"sqrt(u-v)", "log(u-0.5)+v", "u+v"}) {
      const std::string here = reason_on("cpu", rule, formula);
      EXPECT_EQ(here, reason_on("simt", rule, formula)) << formula << " by " << rule;
      EXPECT_EQ(here.substr(0, 24) == "non-finite value at u = ", formula[0] != 'u') << here;
    }
}

}  // namespace
}  // namespace tessera::quadrature
