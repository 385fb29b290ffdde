// SPDX-License-Identifier: Apache-2.0
// Rules as the command asks for them.
#include <gtest/gtest.h>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <numbers>
#include <random>
#include "integrate_rules.hpp"
#include "tessera/core/text/error.hpp"
#include "tessera/core/operation/operation.hpp"
#include "tessera/run/run.hpp"
#include "tessera/run/verify.hpp"
#include "verify/reference.hpp"

namespace tessera::integration {
namespace {

constexpr double pi = std::numbers::pi, infinity = std::numeric_limits<double>::infinity();

const Operation& operation() { return *find_operation("integrate"); }

struct Ran {
  double value = 0;
  std::string variant;
  Values values;

  double number(const std::string& name) const { return std::get<double>(values.at(name)); }
  std::string text(const std::string& name) const { return std::get<std::string>(values.at(name)); }
  bool falls_short() const { return text("reason") != "converged"; }
};

Ran ran(const std::string& formula, const std::string& limits, Arguments::Words words = {},
        Element element = Element::f64) {
  words["FORMULA"] = formula;
  words["LIMITS"] = limits;
  Arguments arguments(operation().signature, element, {}, words);
  const Outcome outcome = run(operation(), arguments, {.device = "cpu:threads=2", .cached = false});
  const ArrayView& view = outcome.outputs.at("integral").view();
  return {load_as_double(view.element, view.data), outcome.plan.variant->name, outcome.values};
}

TEST(IntegrateRules, ComputesPiByTheRuleForTheCircle) {
  const Ran out = ran("sqrt(1-x^2)", "0 1", {{"scale", "4"}});
  EXPECT_EQ(out.variant, "rules");
  EXPECT_NEAR(out.value, pi, 4e-15);
  EXPECT_EQ(out.text("reason"), "converged");
  EXPECT_FALSE(out.falls_short());
  EXPECT_LE(std::fabs(out.value - pi), out.number("error"));
  EXPECT_LT(out.number("error"), 4e-10);
}

TEST(IntegrateRules, StripsSelectTheTrapezoidSum) {
  EXPECT_NE(ran("sqrt(1-x^2)", "0 1", {{"strips", "100"}}).variant, "rules");
  EXPECT_NE(ran("sqrt(1-x^2)", "0 1", {{"rule", "trapezoid"}, {"strips", "100"}}).variant, "rules");
}

TEST(IntegrateRules, RunsEachRuleByName) {
  for (const char* rule : {"richardson", "simpson", "gauss_kronrod", "tanh_sinh"}) {
    const Ran out = ran("exp(x)", "0 1", {{"rule", rule}});
    EXPECT_NEAR(out.value, std::exp(1.0) - 1, 2e-10) << rule;
    EXPECT_FALSE(out.falls_short()) << rule;
  }
  for (const char* rule : {"genz_malik", "quasi_random", "tanh_sinh"}) {
    const Ran out = ran("exp(x+y)", "x=[0,1] y=[1,0]", {{"rule", rule}, {"relative", "1e-4"}});
    EXPECT_NEAR(out.value, -std::pow(std::exp(1.0) - 1, 2), 4e-4) << rule;
    EXPECT_FALSE(out.falls_short()) << rule;
  }
  EXPECT_THROW(ran("x", "0 1", {{"rule", "genz_malik"}}), Error);
  EXPECT_THROW(ran("x*y", "x=[0,1] y=[0,1]", {{"rule", "simpson"}}), Error);
}

TEST(IntegrateRules, SeveralVariablesAndInfiniteRanges) {
  const Ran bell = ran("exp(-(x^2+y^2)/2)", "x=[-inf,inf] y=[-inf,inf]");
  EXPECT_NEAR(bell.value, 2 * pi, 2 * pi * 1e-6);
  EXPECT_FALSE(bell.falls_short());
  const Ran gauss = ran("exp(-k*t^2)", "t=[-inf,inf] k=2", {}, Element::f32);
  EXPECT_NEAR(gauss.value, std::sqrt(pi / 2), 1e-7);
}

TEST(IntegrateRules, ReportsAMissedTolerance) {
  const Ran pole = ran("1/x", "0 1");
  EXPECT_TRUE(pole.falls_short());
  EXPECT_EQ(pole.text("reason").substr(0, 8), "diverges");
  const Ran few = ran("sin(1e6*sin(1e6*x))", "0 1", {{"most-evaluations", "5e4"}});
  EXPECT_TRUE(few.falls_short());
  EXPECT_LE(std::get<std::int64_t>(few.values.at("evaluations")), 50'000);
  const Ran odd = ran("x^3", "-1 1");
  EXPECT_TRUE(odd.falls_short());
  EXPECT_FALSE(ran("x^3", "-1 1", {{"relative", "0"}, {"absolute", "1e-12"}}).falls_short());
}

TEST(IntegrateRules, IsVerifiedInLongDouble) {
  for (const char* formula : {"sqrt(1-x^2)", "exp(abs(x-0.3))", "log(x)", "cos(64*x)"}) {
    Arguments arguments(operation().signature, Element::f64, {},
                        {{"FORMULA", formula}, {"LIMITS", "0 1"}, {"scale", "4"}});
    const Outcome right = run(operation(), arguments, {.device = "cpu", .cached = false}, true);
    ASSERT_TRUE(right.verdict) << formula;
    EXPECT_TRUE(right.verdict->passed) << formula << ": " << describe(*right.verdict);
  }
  const RuleOptions requested = [] {
    return rule_options_of(
        {operation().signature, Element::f64, {}, {{"FORMULA", "sqrt(1-x^2)"}, {"LIMITS", "1 0"}}});
  }();
  const Bounded quarter = rule_reference(requested, Element::f64).integral;
  EXPECT_NEAR(static_cast<double>(quarter.value), -pi / 4, 1e-16);
  EXPECT_LT(quarter.error, 1e-10L);  // the wrong digit that a rule may claim, and no more
}

TEST(IntegrateRules, KnownBreaks) {
  const Ran out = ran("abs(sin(40*x))+erf(x)", "0 1", {{"points", "pi/40,2*pi/40,0.3"}});
  EXPECT_LE(std::fabs(out.value - ran("abs(sin(40*x))+erf(x)", "0 1", {{"relative", "1e-12"}}).value), 1e-9);
  EXPECT_FALSE(out.falls_short());
}

TEST(IntegrateRules, TablesOfSamples) {
  constexpr std::int64_t n = 101;
  Array x(Element::f64, {n}), y(Element::f64, {n});
  for (std::int64_t i = 0; i < n; ++i) {
    const double at = std::pow(static_cast<double>(i) / (n - 1), 1.5);
    static_cast<double*>(x.view().data)[i] = at;
    static_cast<double*>(y.view().data)[i] = std::exp(at);
  }
  const auto requested = [&](const std::string& formula, const std::string& rule, double exact,
                             double within) {
    Arguments arguments(operation().signature, Element::f64, {{"X", x.view()}, {"Y", y.view()}},
                        {{"FORMULA", formula},
                         {"LIMITS", formula == "y" ? "" : "k=2"},
                         {"rule", rule},
                         {"relative", "1e-3"}});
    const Outcome outcome = run(operation(), arguments, {.device = "cpu", .cached = false});
    const double value = load_as_double(Element::f64, outcome.outputs.at("integral").as<void>());
    EXPECT_NEAR(value, exact, within) << formula << " " << rule;
    EXPECT_EQ(std::get<std::string>(outcome.values.at("reason")), "converged") << rule;
  };
  requested("y", "auto", std::exp(1.0) - 1, 1e-6);
  requested("y", "simpson", std::exp(1.0) - 1, 1e-6);
  requested("y", "trapezoid", std::exp(1.0) - 1, 1e-3);
  requested("k*x*y", "auto", 2, 1e-5);
  Arguments lonely(operation().signature, Element::f64, {{"X", x.view()}}, {{"FORMULA", "x"}});
  EXPECT_THROW((void)run(operation(), lonely, {.device = "cpu", .cached = false}), Error);
}

TEST(IntegrateRules, RefusesInvalidOptions) {
  for (const Arguments::Words& words : {Arguments::Words{{"relative", "-1"}},
                                        {{"absolute", "0/0"}},
                                        {{"relative", "x"}},
                                        {{"most-evaluations", "0"}},
                                        {{"most-seconds", "-1"}},
                                        {{"relative", "0"}},
                                        {{"points", "0.5,"}}})
    EXPECT_THROW(ran("x", "0 1", words), Error) << words.begin()->first << " " << words.begin()->second;
  EXPECT_THROW(ran("x*y", "0 1"), Error);
  EXPECT_THROW(ran("x*y", "x=[0,1] y=[0,1]", {{"points", "0.5"}}), Error);
  EXPECT_EQ(ran("x", "2 2").value, 0);
}

// The reference of --check cuts where a part of the formula marks a place, so that it calls no right value
// wrong.
TEST(IntegrateRules, TheCheckSeesMarkedFeatures) {
  RuleOptions options;
  options.rule = "auto";
  options.variables = {"x"};
  const auto checked = [&](const char* formula) {
    options.formula = formula::parse(formula);
    return static_cast<double>(rule_reference(options, Element::f64).integral.value);
  };
  options.box.axes = {{-quadrature::infinity, quadrature::infinity}};
  EXPECT_NEAR(checked("exp(-(x-1e5)^2/2)+1/(1+x^2)"), std::numbers::pi + std::sqrt(2 * std::numbers::pi),
              1e-12);
  options.variables = {"x", "y"};
  options.box.axes = {{0, 1}, {0, 1}};
  EXPECT_THROW(checked("x+exp(-((x-0.3)/1e-4)^2)*y"), Error);  // too narrow for its points
  EXPECT_NEAR(checked("x+exp(-((x-0.3)/0.1)^2)*y"), 0.588621713685614, 1e-12);
}

// The reference of --check finds what no part of the formula marks.
TEST(IntegrateRules, TheCheckFindsHiddenFeatures) {
  RuleOptions options;
  options.rule = "auto";
  options.variables = {"x"};
  options.box.axes = {{0, 1}};
  for (const double place : {0.3, 0.618, 0.77}) {
    const double width = 1e-4;
    // sin(x)^2 + cos(x)^2 hides the place from the search for linear parts.
    options.formula =
        formula::parse(fmt::format("1+1e4*exp(-((x*(sin(x)^2+cos(x)^2)-{})/{})^2)", place, width));
    const RuleReference found = rule_reference(options, Element::f64);
    EXPECT_NEAR(static_cast<double>(found.integral.value), 1 + std::sqrt(std::numbers::pi), 1e-9);
    EXPECT_NE(found.how.find("no feature wider than 1.5e-05 was missed"), std::string::npos) << found.how;
  }
}

}  // namespace
}  // namespace tessera::integration
