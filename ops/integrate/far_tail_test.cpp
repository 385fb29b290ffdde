// SPDX-License-Identifier: Apache-2.0
// Tails that a formula computes as 0 because something in it overflows, and boxes in parts of which it is
// infinite: never claimed away; and what only looks like it is claimed as before.
#include <gtest/gtest.h>
#include <cmath>
#include <numbers>
#include "tessera/core/operation.hpp"
#include "tessera/run/run.hpp"

namespace tessera::integration {
namespace {

struct Told {
  double value, error;
  std::string reason;
};

Told told(const std::string& formula, const std::string& limits, Arguments::Words more = {}) {
  more["FORMULA"] = formula;
  more["LIMITS"] = limits;
  Arguments arguments(find_operation("integrate")->signature, Element::f64, {}, std::move(more));
  const Outcome outcome =
      run(*find_operation("integrate"), arguments, {.device = "cpu:threads=2", .cached = false});
  return {load_as_double(Element::f64, arguments.array("integral").data),
          std::get<double>(outcome.values.at("error")), std::get<std::string>(outcome.values.at("reason"))};
}

TEST(HiddenTail, ThatDivergesIsNotClaimedAway) {
  for (const char* formula : {"x/(1+x^2)", "x/(1+x)^2", "x^2/(1+x)^3"})
    for (const char* relative : {"1e-10", "1e-4"}) {
      const Told answer = told(formula, "0 inf", {{"relative", relative}});
      EXPECT_NE(answer.reason, "converged") << formula;
      EXPECT_TRUE(std::isinf(answer.error)) << formula << " " << answer.error;
    }
  EXPECT_NE(told("abs(x)/(1+x^2)", "-inf inf").reason, "converged");
  EXPECT_NE(told("-x/(1+x^2)", "-inf -1").reason, "converged");
}

// ∫ x^p/(1+x)² = πp/sin(πp).
TEST(HiddenTail, ThatIsFiniteIsPartOfTheError) {
  for (const double p : {0.94, 0.95, 0.97, 0.98, 0.99})
    for (const char* relative : {"1e-10", "1e-6"}) {
      const std::string formula = "x^" + std::to_string(p) + "/(1+x)^2";
      const Told answer = told(formula, "0 inf", {{"relative", relative}});
      const double exact = std::numbers::pi * p / std::sin(std::numbers::pi * p);
      EXPECT_LE(std::fabs(answer.value - exact), answer.error)
          << formula << ": " << answer.value << " for " << exact;
    }
}

TEST(HiddenTail, OthersAreClaimedAsBefore) {
  for (const char* formula : {"exp(-x)", "x^80*exp(-x)", "1/(1+x^4)", "x*sin(x)/(1+x^2)", "(x<1e5)*x",
                              "exp(-x*x)*cosh(x)", "x^0.5/(1+x)^2", "(sin(x)/x)^2", "log(x)/(1+100*x^2)",
                              "(sin(0.9*x)/x)^2", "(sin(1.3*x)/x)^2", "(sin(x)/(1+x))^2"})
    EXPECT_EQ(told(formula, "0 inf").reason, "converged") << formula;
}

TEST(InfinitePart, OfABoxIsNotCountedAsZero) {
  for (const char* formula :
       {"1/(x>0.5?0:1)*exp(y)", "1/floor(2*x)*y", "exp(1000*x)*y", "x^-500*y", "log(max(0,x-0.5))*y"}) {
    const Told answer = told(formula, "x=[0,1] y=[0,1]", {{"relative", "1e-3"}});
    EXPECT_NE(answer.reason, "converged") << formula << " " << answer.value;
  }
  EXPECT_NE(told("1/(x+y>1.9?0:1)", "x=[1,0] y=[0,1]", {{"relative", "1e-3"}}).reason, "converged");
}

TEST(InfinitePart, SingularPointsAndLinesAreNone) {
  for (const char* formula : {"1/sqrt(abs(x-0.5))*y", "log(x)*y", "1/sqrt(x*y)", "x^-0.5+y^-0.5"})
    EXPECT_EQ(told(formula, "x=[0,1] y=[0,1]", {{"relative", "1e-4"}}).reason, "converged") << formula;
}

}  // namespace
}  // namespace tessera::integration
