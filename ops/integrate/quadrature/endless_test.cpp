// SPDX-License-Identifier: Apache-2.0
// Integrals without a value, of one to four variables: each rule ends within its caps, and claims no value.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>
#include "ops/integrate/quadrature/one_variable/auto.hpp"
#include "ops/integrate/quadrature/formula/formula_integrand.hpp"
#include "ops/integrate/quadrature/several_variables/separable_product.hpp"
#include "ops/integrate/quadrature/several_variables/several_variables.hpp"
#include "tessera/formula/tree.hpp"

namespace tessera::quadrature {
namespace {

constexpr Range half_line{0, infinity}, line{-infinity, infinity}, unit_range{0, 1}, from_one{1, infinity};

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

TEST(Endless, OfOneVariable) {
  const Limits limits{.evaluations = 1'000'000, .seconds = 5};
  const auto expect = [&](const char* formula, const Range& range) {
    const Integrand f = integrand_of(formula::parse(formula), "x", range);
    Integrand callable;
    callable.values = f.values;
    for (const Integrand& one : {f, callable})
      for (const char* rule : {"auto", "tanh_sinh"}) {
        const Answer answer = by_name(rule, one, range, {}, limits, {});
        EXPECT_FALSE(answer.converged()) << rule << ": " << formula << " = " << answer.value;
        EXPECT_LE(answer.evaluations, limits.evaluations) << formula;
      }
  };
  for (const char* formula : {"x",
                              "x^2",
                              "sqrt(x)",
                              "1+0*x",
                              "exp(x)",
                              "exp(x^2)",
                              "log(2+x)",
                              "1/(1+x)",
                              "x/(1+x^2)",
                              "1/(2+x)/log(2+x)",
                              "cosh(x)",
                              "x^200",
                              "exp(exp(x))",
                              "x-sqrt(x)",
                              "x*exp(x)",
                              "tanh(x)",
                              "atan(x)",
                              "1/sqrt(1+x)",
                              "exp(1/(1+x))",
                              "erf(x)",
                              "exp(-x)+1e-250"})
    expect(formula, half_line);
  for (const char* formula :
       {"x^2", "exp(x)", "exp(-x)", "abs(x)", "1/(1+abs(x))", "cosh(x)", "exp(x^2)", "atan(x)+2"})
    expect(formula, line);
  for (const char* formula : {"1/x", "1/x^2", "1/x^1.5", "log(x)/x", "1/(x*(1-x))", "1/sin(x)",
                              "1/(exp(x)-1)", "1/log1p(x)", "exp(1/x)", "1/x^5", "1/(x*sqrt(x))", "1/(1-x)"})
    expect(formula, unit_range);
}

// Its narrow peaks beside the zeros of sin(x) are bounded.
TEST(Endless, NamesTheEndThatDiverges) {
  const Answer answer =
      automatic(integrand_of(formula::parse("1/(1+x*abs(sin(x)))"), "x", half_line), half_line);
  EXPECT_TRUE(answer.without_limit()) << reason_text(answer);
  EXPECT_EQ(answer.where, infinity);
}

struct Divergent {
  const char* formula;
  std::vector<Range> axes;
};

// Divergent integrals of two to four variables.
const std::vector<Divergent>& divergent() {
  static const std::vector<Divergent> all = {
      {"x+0*y", {half_line, unit_range}},
      {"x*y", {half_line, half_line}},
      {"x*y", {half_line, unit_range}},
      {"x+y", {half_line, half_line}},
      {"x+y", {half_line, unit_range}},
      {"x-y", {half_line, half_line}},
      {"x*x*y", {half_line, unit_range}},
      {"sqrt(x+y)", {half_line, half_line}},
      {"sqrt(x)*y", {half_line, unit_range}},
      {"exp(x)*y", {half_line, unit_range}},
      {"exp(x*y)", {half_line, half_line}},
      {"exp(x+y)", {half_line, unit_range}},
      {"exp(x-y)", {half_line, half_line}},
      {"exp(-x)*y", {half_line, half_line}},
      {"exp(-x)+y", {half_line, unit_range}},
      {"log(2+x+y)", {half_line, half_line}},
      {"log(2+x)*y", {half_line, unit_range}},
      {"1/(1+x+y)", {half_line, half_line}},
      {"1/(1+x*x+y*y)", {half_line, half_line}},
      {"1/(1+x)/(1+y)", {half_line, half_line}},
      {"1/(1+x+y)", {half_line, unit_range}},
      {"1/(1+x*y)", {half_line, half_line}},
      {"1/(1+x*y)^2", {half_line, half_line}},
      {"x/(1+x*x)*exp(-y)", {half_line, half_line}},
      {"1+0*x*y", {half_line, half_line}},
      {"exp(-(x-y)^2)", {half_line, half_line}},
      {"exp(-(x-y)^2)", {line, line}},
      {"exp(-abs(x+y))", {line, line}},
      {"x^2+y^2", {line, line}},
      {"abs(x*y)", {line, line}},
      {"x^2*y", {line, unit_range}},
      {"exp(x)+y", {line, unit_range}},
      {"cosh(x)*exp(-y*y)", {line, line}},
      {"tanh(x)+y", {half_line, unit_range}},
      {"atan(x)*y", {half_line, unit_range}},
      {"hypot(x,y)", {half_line, half_line}},
      {"x^3*y^3", {half_line, half_line}},
      {"x^y", {from_one, unit_range}},
      {"1/x+0*y", {from_one, unit_range}},
      {"y/x", {from_one, unit_range}},
      {"1/(x*y)", {from_one, from_one}},
      {"1/(x+y)", {from_one, from_one}},
      {"1/(x*y)", {unit_range, unit_range}},
      {"1/(x+y)^2.5", {unit_range, unit_range}},
      {"1/(x*x+y*y)^1.5", {unit_range, unit_range}},
      {"1/(x*x*y)", {unit_range, unit_range}},
      {"exp(1/x)*y", {unit_range, unit_range}},
      {"1/(1-x)+y", {unit_range, unit_range}},
      {"x*y*z", {half_line, half_line, half_line}},
      {"x+y+z", {half_line, half_line, half_line}},
      {"x*y*z", {half_line, unit_range, unit_range}},
      {"x+y*z", {half_line, unit_range, unit_range}},
      {"exp(x)*y*z", {half_line, unit_range, unit_range}},
      {"exp(x*y*z)", {half_line, half_line, half_line}},
      {"1/(1+x+y+z)^2", {half_line, half_line, half_line}},
      {"sqrt(x*y)+z", {half_line, half_line, unit_range}},
      {"x^2+y^2+z^2", {line, line, line}},
      {"exp(-(x-y)^2-z^2)", {line, line, line}},
      {"exp(-x)*y*z", {half_line, unit_range, half_line}},
      {"1/(x*y*z)", {unit_range, unit_range, unit_range}},
      {"x*y*z*t", {half_line, half_line, half_line, half_line}},
      {"x+y+z+t", {half_line, half_line, half_line, half_line}},
      {"x*y+z*t", {half_line, unit_range, unit_range, unit_range}},
      {"exp(x+t)*y*z", {half_line, unit_range, unit_range, half_line}},
      {"x^2+y^2+z^2+t^2", {line, line, line, line}},
      {"1/(1+x+y+z+t)", {half_line, half_line, half_line, half_line}},
  };
  return all;
}

std::vector<std::string> rules_for(std::size_t dimensions) {
  std::vector<std::string> out{"auto", "genz_malik", "quasi_random", "vegas"};
  if (dimensions <= 3) out.insert(out.end(), {"tanh_sinh", "gauss_kronrod"});
  return out;
}

const std::vector<std::string> variable_names{"x", "y", "z", "t"};

TEST(Endless, OfSeveralVariables) {
  constexpr std::int64_t looks = 8192;  // around points without a value
  const Limits limits{.evaluations = 40'000, .seconds = 5};
  const Tolerance tolerance{.relative = 1e-6};
  for (const Divergent& one : divergent()) {
    const std::vector<std::string> own(variable_names.begin(),
                                       variable_names.begin() + static_cast<std::ptrdiff_t>(one.axes.size()));
    const formula::Tree tree = formula::parse(one.formula);
    const Box box{one.axes};
    for (const bool in_single : {false, true})
      for (const std::string& rule : in_single ? std::vector<std::string>{"auto"} : rules_for(own.size())) {
        const auto start = std::chrono::steady_clock::now();
        const BatchIntegrand values =
            in_single ? many_single_values_of(tree, own) : batch_integrand_of(tree, own);
        std::atomic<std::int64_t> counted{0};
        const BatchIntegrand f = [&](std::span<const double> points, std::size_t count, std::span<double> y) {
          counted += static_cast<std::int64_t>(count);
          values(points, count, y);
        };
        const Answer answer = integrate_several(rule, f, box, tolerance, limits);
        const std::int64_t runs = rule == "auto" ? 3 : 1;  // auto begins VEGAS anew
        EXPECT_LE(counted, limits.evaluations + runs * looks) << rule << ": " << one.formula;
        EXPECT_FALSE(answer.converged()) << rule << ": " << one.formula << " = " << answer.value;
        EXPECT_LE(answer.evaluations, limits.evaluations) << rule << ": " << one.formula;
        EXPECT_LT(seconds_since(start), limits.seconds) << rule << ": " << one.formula;
      }
    Limits left = limits;
    if (const auto answer = integrate_separately(tree, own, box, tolerance, left, 0)) {
      EXPECT_FALSE(answer->converged()) << one.formula << " = " << answer->value;
      EXPECT_LE(answer->evaluations, limits.evaluations) << one.formula;
    }
  }
}

TEST(Endless, AMillionEvaluations) {
  const Limits limits{.evaluations = 1'000'000, .seconds = 20};
  for (const char* formula : {"x*y", "1/(1+x+y)"})
    for (const std::string& rule : rules_for(2)) {
      const Answer answer = integrate_several(rule, batch_integrand_of(formula::parse(formula), {"x", "y"}),
                                              Box{{half_line, half_line}}, {.relative = 1e-6}, limits);
      EXPECT_FALSE(answer.converged()) << rule << ": " << formula;
      EXPECT_LE(answer.evaluations, limits.evaluations) << rule << ": " << formula;
    }
}

// With a slow integrand, no batch takes longer than the time that is left.
TEST(Endless, Seconds) {
  const BatchIntegrand slow = [](std::span<const double> points, std::size_t count, std::span<double> y) {
    std::this_thread::sleep_for(std::chrono::microseconds(20 * count));
    for (std::size_t i = 0; i < count; ++i) y[i] = points[i] / (1 + points[count + i]);
  };
  for (const Box& box : {Box{{half_line, half_line}}, Box{{unit_range, half_line}}})
    for (const std::string& rule : rules_for(2)) {
      const auto start = std::chrono::steady_clock::now();
      const Limits limits{.evaluations = 100'000'000, .seconds = 0.1};
      const Answer answer = integrate_several(rule, slow, box, {.relative = 1e-9}, limits, {}, 2);
      EXPECT_FALSE(answer.converged()) << rule;
      EXPECT_LT(seconds_since(start), 0.4) << rule;
    }
}

}  // namespace
}  // namespace tessera::quadrature
