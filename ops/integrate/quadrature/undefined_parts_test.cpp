// SPDX-License-Identifier: Apache-2.0
// Integrands without a value on part of the range never converge, wherever the part lies. If only an end has
// no value, the integral still converges.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <cmath>
#include <numbers>
#include <string>
#include <vector>
#include "ops/integrate/quadrature/one_variable/auto.hpp"
#include "ops/integrate/quadrature/formula/formula_integrand.hpp"
#include "ops/integrate/quadrature/several_variables/several_variables.hpp"
#include "tessera/formula/tree.hpp"

namespace tessera::quadrature {
namespace {

constexpr double single_unit = 0x1p-24;

// A function that is defined from u = 0 to `last`; `exact` is the integral from 0 to `top`.
struct Limited {
  const char* of;  // {} stands for u
  double last, top, exact;
};

const double log2_integral = 2 * std::log(2.0) - 2;
const Limited limited_functions[] = {
    {"sqrt({})", infinity, 2, 4 * std::sqrt(2.0) / 3},
    {"log({})", infinity, 2, log2_integral},
    {"log1p({}-1)", infinity, 2, log2_integral},
    {"log2({})", infinity, 2, log2_integral / std::numbers::ln2},
    {"log10({})", infinity, 2, log2_integral / std::numbers::ln10},
    {"acosh({}+1)", infinity, 2, 3 * std::acosh(3.0) - std::sqrt(8.0)},
    {"(1+asin({}-1))", 2, 2, 2},
    {"acos({}-1)", 2, 2, std::numbers::pi},
    {"atanh({}-1)", 2, 1, -std::numbers::ln2},
    {"({})^0.5", infinity, 2, 4 * std::sqrt(2.0) / 3},
    {"({})^(-0.3)", infinity, 2, std::pow(2, 0.7) / 0.7},
    {"pow({},1.7)", infinity, 2, std::pow(2, 2.7) / 2.7},
    {"y0({})", infinity, 2, nan},
    {"({}*y1({}))", infinity, 2, nan},
};

std::string of_argument(const Limited& f, const std::string& u) {
  std::string out = f.of;
  for (std::size_t at = out.find("{}"); at != std::string::npos; at = out.find("{}", at + u.size() + 2))
    out.replace(at, 2, "(" + u + ")");
  return out;
}

std::string text_of_answer(const std::string& formula, const Range& range, const Answer& answer) {
  return fmt::format("{} from {} to {}: {:.17g} ± {:.2g}, {}", formula, range.lower, range.upper,
                     answer.value, answer.error(), reason_text(answer));
}

Answer answer_by(const std::string& rule, const Integrand& f, const Range& range) {
  return by_name(rule, f, range, {.relative = range.single() ? 1e-5 : 1e-10}, {}, {});
}

// Tries the formula, and a callable of which only values are known.
void expect_undefined(const std::string& formula, const Range& range) {
  const Integrand f = integrand_of(formula::parse(formula), "x", range);
  Integrand callable;
  callable.values = f.values;
  const bool met = answer_by("gauss_kronrod", callable, range).reason == Reason::non_finite;
  for (const Integrand& one : {f, callable})
    for (const char* rule : {"auto", "tanh_sinh"}) {
      const Answer answer = answer_by(rule, one, range);
      EXPECT_FALSE(answer.converged()) << rule << ": " << text_of_answer(formula, range, answer);
      if (met) {
        EXPECT_EQ(answer.reason, Reason::non_finite)
            << rule << ": " << text_of_answer(formula, range, answer);
      }
    }
}

TEST(UndefinedParts, OfAFiniteRange) {
  for (const Limited& f : limited_functions)
    for (const double rounding : {unit, single_unit})
      for (const double edge : {0.003, 0.5, 1.0, 3.9}) {
        const double length = std::isinf(f.last) ? 10 : edge + 1.9;  // defined up to its upper end
        expect_undefined(of_argument(f, fmt::format("x-{}", edge)), {0, length, rounding});
        expect_undefined(of_argument(f, fmt::format("{}-x", length - edge)), {0, length, rounding});
      }
}

TEST(UndefinedParts, OfAScaledOrShiftedRange) {
  for (const Limited& f : limited_functions) {
    const double last = std::isinf(f.last) ? 10 : 1.9;
    for (const double scale : {1e-6, 1e6})
      expect_undefined(of_argument(f, fmt::format("x/{}-{}", scale, last / 3)), {0, 4 * last / 3 * scale});
    expect_undefined(of_argument(f, "x+5.5"), {-6, -5.5 + last});
    expect_undefined(of_argument(f, fmt::format("{}-abs(x)", last)), {-1.2 * last, 1.3 * last});  // both ends
    expect_undefined(of_argument(f, "abs(x)-0.1"), {-last, last});  // the middle
    expect_undefined(of_argument(f, "1/x-1/8"), {0.9 * 8 / (8 * std::fmin(last, 1.7) + 1) + 0.5, 9});
  }
}

TEST(UndefinedParts, OfAnInfiniteRange) {
  for (const Limited& f : limited_functions) {
    if (std::isinf(f.last)) {
      expect_undefined("exp(-x)*" + of_argument(f, "x-1"), {0, infinity});
      expect_undefined("exp(-x^2)*" + of_argument(f, "x+1"), {-infinity, infinity});
      expect_undefined("cos(x)*" + of_argument(f, "x-1"), {0, infinity});
      expect_undefined("exp(x)*" + of_argument(f, "-1-x"), {-infinity, 0});
    }
    for (const char* edge : {"2-x", "20-x"})  // values fade before the second
      if (std::isinf(f.last) || edge[1] == '-')
        expect_undefined("exp(-x)*" + of_argument(f, edge), {0, infinity});
  }
  // The formula reports that it is undefined, not overflowed, although it has faded.
  for (const char* formula : {"exp(-x^2)*acosh(100-x)", "exp(-x^2)*y0(60-x)", "exp(-x^2)*log1p(90-x)"}) {
    const Range range{0, infinity};
    const Answer answer = answer_by("auto", integrand_of(formula::parse(formula), "x", range), range);
    EXPECT_EQ(answer.reason, Reason::non_finite) << text_of_answer(formula, range, answer);
  }
}

TEST(UndefinedParts, FindsAnInfinitePart) {
  for (const char* formula : {"log(max(x-1,0))", "1/max(x-1,0)^0.5", "exp(x)+log(max(x-0.01,0))"})
    for (const char* rule : {"auto", "tanh_sinh"}) {
      const Range range{0, 10};
      const Answer answer = answer_by(rule, integrand_of(formula::parse(formula), "x", range), range);
      EXPECT_TRUE(answer.undefined()) << rule << ": " << text_of_answer(formula, range, answer);
    }
}

TEST(UndefinedParts, OfABox) {
  for (const Limited& f : limited_functions) {
    const double upper = std::isinf(f.last) ? 10 : 2.9;
    for (const char* more : {"*y", "+y", "*exp(x*y)"}) {
      const std::string formula = of_argument(f, "x-1") + more;
      for (const bool in_single : {false, true}) {
        const formula::Tree tree = formula::parse(formula);
        const BatchIntegrand values =
            in_single ? many_single_values_of(tree, {"x", "y"}) : batch_integrand_of(tree, {"x", "y"});
        const Answer answer = integrate_several("auto", values, Box{{{0, upper}, {0, 1}}}, {.relative = 1e-4},
                                                {.evaluations = 200'000});
        EXPECT_EQ(answer.reason, Reason::non_finite) << formula << ": " << reason_text(answer);
      }
    }
  }
}

TEST(UndefinedParts, ASingleEndIsNone) {
  for (const Limited& f : limited_functions)
    for (const double at : {0.0, 1.0, -2.5})
      for (const bool mirrored : {false, true}) {
        const std::string u = mirrored ? fmt::format("{}-x", at) : fmt::format("x-({})", at);
        const std::string formula = of_argument(f, u);
        const Range range = mirrored ? Range{at - f.top, at} : Range{at, at + f.top};
        const Answer answer = answer_by("auto", integrand_of(formula::parse(formula), "x", range), range);
        double exact = f.exact;
        if (std::isnan(exact)) {
          const Range same{0, f.top};
          exact =
              answer_by("gauss_kronrod", integrand_of(formula::parse(of_argument(f, "x")), "x", same), same)
                  .value;
        }
        EXPECT_TRUE(answer.converged()) << text_of_answer(formula, range, answer);
        EXPECT_NEAR(answer.value, exact, 2e-10 * std::fabs(exact)) << formula;
      }
}

// Far out, and next to an end, a formula may overflow or vanish on the way to a harmless value.
TEST(UndefinedParts, OverflowIsNone) {
  struct KnownIntegral {
    const char* formula;
    Range range;
    double exact;
  };
  const double pi = std::numbers::pi;
  for (const KnownIntegral& one :
       {KnownIntegral{"x^2*exp(-x^2)", {0, infinity}, std::sqrt(pi) / 4},
        KnownIntegral{"x^80*exp(-x)", {0, infinity}, std::tgamma(81)},
        KnownIntegral{"exp(x)/(1+exp(2*x))", {0, infinity}, pi / 4},
        KnownIntegral{"exp(x)/(1+exp(2*x))", {-infinity, infinity}, pi / 2},
        KnownIntegral{"x/sinh(x)", {0, infinity}, pi * pi / 4},
        KnownIntegral{"x^4/sin(x)^4*cos(x)*0+1/sqrt(x)", {0, 1}, 2},
        KnownIntegral{"sin(x)^6/x^6*x^5", {0, 1e-3}, 1e-18 / 6 * (1 - 6.0 / 8 * 1e-6)},
        KnownIntegral{"exp(-1/x)/x^2", {0, 1}, std::exp(-1)},
        KnownIntegral{"log(x)", {0, 1e-100}, 1e-100 * (std::log(1e-100) - 1)},
        KnownIntegral{"atanh(1-x)", {0, 1}, std::numbers::ln2},
        KnownIntegral{"acosh(x*1.4285714285714286)", {0.7, 1}, nan}}) {
    const Integrand f = integrand_of(formula::parse(one.formula), "x", one.range);
    Integrand callable;
    callable.values = f.values;
    for (const Integrand& each : {f, callable}) {
      const Answer answer = answer_by("auto", each, one.range);
      EXPECT_TRUE(answer.converged()) << text_of_answer(one.formula, one.range, answer);
      if (!std::isnan(one.exact)) {
        EXPECT_NEAR(answer.value, one.exact, 1e-9 * std::fabs(one.exact)) << one.formula;
      }
    }
  }
}

// The error estimate for the defined part says nothing about the undefined part.
TEST(UndefinedParts, AreReportedForAnyTolerance) {
  for (const char* formula : {"acosh(x+0.63)", "acosh(x-0.37+1)", "log2(x-0.37)", "asin(x+0.3)",
                              "log1p(x-1.3)", "atanh(x+0.4)", "x^2*acos(x+0.25)"})
    for (const char* rule : {"auto", "tanh_sinh"})
      for (const double relative : {0.3, 1e-2, 1e-3}) {
        const Range range{0, 1};
        const Answer answer = by_name(rule, integrand_of(formula::parse(formula), "x", range), range,
                                      {.relative = relative}, {}, {});
        EXPECT_FALSE(answer.converged()) << rule << " " << relative << ": " << formula;
      }
}

// Where a denominator overflows, the integrand is 0, but the tail goes on.
TEST(UndefinedParts, ATailThatOverflowsToZeroIsNoEnd) {
  const Range endless{0, infinity};
  for (const char* formula :
       {"1/log(exp(x)+1)", "1/asinh(sinh(x)+1)", "1/(1+x^16)^0.0625", "1/(1+pow(x,200))^(1/200)",
        "1/log(exp(x)+1)^2", "1/log(cosh(x)+2)^2", "1/(1+pow(x,200))^(1/100)"}) {
    const Answer answer = answer_by("auto", integrand_of(formula::parse(formula), "x", endless), endless);
    EXPECT_FALSE(answer.converged()) << text_of_answer(formula, endless, answer);
  }
  for (const auto& [formula, exact] :
       {std::pair{"exp(-exp(x))", 0.21938393439552029}, std::pair{"1/cosh(x)", std::numbers::pi / 2},
        std::pair{"1/(1+exp(x))", std::numbers::ln2}}) {
    const Answer answer = answer_by("auto", integrand_of(formula::parse(formula), "x", endless), endless);
    EXPECT_TRUE(answer.converged()) << text_of_answer(formula, endless, answer);
    EXPECT_NEAR(answer.value, exact, 1e-12) << formula;
  }
}

// An infinite value next to an end, where x underflows, follows values that have faded.
TEST(UndefinedParts, InfiniteValuesBehindFadedOnesAreNone) {
  const double pi = std::numbers::pi, single = 6e-8;
  struct KnownIntegral {
    const char* formula;
    Range range;
    double exact;
  };
  for (const KnownIntegral& one :
       {KnownIntegral{"log(x^2)", {-1, 1}, -4}, KnownIntegral{"log(x)", {0, 1, single}, -1},
        KnownIntegral{"log(sin(x))", {0, pi, single}, -pi * std::numbers::ln2},
        KnownIntegral{"exp(-x)/sqrt(x)", {0, infinity, single}, std::sqrt(pi)},
        KnownIntegral{"log(log(1/x))", {0, 1, single}, -0.57721566490153286}}) {
    const Answer answer =
        answer_by("auto", integrand_of(formula::parse(one.formula), "x", one.range), one.range);
    EXPECT_TRUE(answer.converged()) << text_of_answer(one.formula, one.range, answer);
    EXPECT_NEAR(answer.value, one.exact, (one.range.single() ? 1e-5 : 1e-10) * std::fabs(one.exact))
        << one.formula;
  }
}

}  // namespace
}  // namespace tessera::quadrature
