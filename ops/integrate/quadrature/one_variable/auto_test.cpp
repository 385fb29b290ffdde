// SPDX-License-Identifier: Apache-2.0
// `auto` for one variable never claims a wrong value, and converges for a minimum share of each family.
#include "ops/integrate/quadrature/one_variable/auto.hpp"
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <cmath>
#include <numbers>
#include <random>
#include <string>
#include "ops/integrate/quadrature/formula/formula_integrand.hpp"
#include "ops/integrate/quadrature/one_variable/equidistant.hpp"
#include "tessera/core/text/error.hpp"
#include "tessera/formula/interpret.hpp"
#include "tests/given_integrals.hpp"

namespace tessera::quadrature {
namespace {

constexpr double pi = std::numbers::pi;

struct Case {
  std::string formula;
  Range range;
  double exact;  // NaN: there is no value
};

Answer by_formula(const Case& one, const std::string& rule = "auto", const Tolerance& tolerance = {}) {
  const Integrand f = integrand_of(formula::parse(one.formula), "x", one.range);
  return by_name(rule, f, one.range, tolerance, {}, {});
}

std::string report_of(const Case& one, const Answer& answer) {
  return fmt::format("{} from {} to {}: {:.17g} ± {:.2g}, exact {:.17g}, {}", one.formula, one.range.lower,
                     one.range.upper, answer.value, answer.error(), one.exact, reason_text(answer));
}

// True if a converged answer is right: within the tolerance, and within its own error.
bool honest(const Case& one, const Answer& answer, double relative) {
  if (!answer.converged()) return true;
  const double off = std::fabs(answer.value - one.exact), spare = 8 * unit * std::fabs(one.exact);
  return off <= answer.error() + spare && off <= relative * std::fabs(one.exact) + spare;
}

class Family {
 public:
  explicit Family(unsigned seed) : random_(seed) {}

  // Returns a number of four digits, as in a formula.
  double number(double from, double to) {
    return std::stod(fmt::format("{:.4g}", std::uniform_real_distribution<double>(from, to)(random_)));
  }
  // Returns the share of `count` integrals that converges.
  template <class Make>
  double share(int count, const Make& make) {
    int converged = 0;
    for (int i = 0; i < count; ++i) {
      const Case one = make(*this);
      const Answer answer = by_formula(one);
      EXPECT_TRUE(honest(one, answer, 1e-10)) << report_of(one, answer);
      EXPECT_TRUE(!std::isnan(one.exact) || !answer.converged()) << report_of(one, answer);
      converged += answer.converged();
    }
    return static_cast<double>(converged) / count;
  }

 private:
  std::mt19937 random_;
};

constexpr int each = 12;

TEST(Auto, DampedCosinesAllConverge) {
  for (const double a : {0.1, 0.3, 1.0, 3.0, 10.0})
    for (const double k : {1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 77.0, 100.0}) {
      const Case one{fmt::format("exp(-{}*x)*cos({}*x)", a, k), {0, infinity}, a / (a * a + k * k)};
      const Answer answer = by_formula(one);
      EXPECT_TRUE(answer.converged() && honest(one, answer, 1e-10)) << report_of(one, answer);
    }
}

TEST(Auto, SingularEnds) {
  Family family(1);
  EXPECT_EQ(family.share(each,
                         [](Family& f) {
                           const double p = f.number(-0.95, 3);
                           return Case{fmt::format("x^({})", p), {0, 1}, 1 / (p + 1)};
                         }),
            1);
  EXPECT_EQ(family.share(each,
                         [](Family& f) {
                           const double p = f.number(-0.95, 3);
                           return Case{fmt::format("(1-x)^({})", p), {0, 1}, 1 / (p + 1)};
                         }),
            1);
  EXPECT_EQ(
      family.share(each,
                   [](Family& f) {
                     const double p = f.number(-0.9, 2), q = f.number(-0.9, 2);
                     return Case{fmt::format("x^({})*(1-x)^({})", p, q), {0, 1}, std::beta(p + 1, q + 1)};
                   }),
      1);
  EXPECT_EQ(family.share(each,
                         [](Family& f) {
                           const double p = f.number(-0.9, 2);
                           return Case{fmt::format("x^({})*log(x)", p), {0, 1}, -1 / ((p + 1) * (p + 1))};
                         }),
            1);
}

TEST(Auto, KinksJumpsAndSingularitiesOfFormulas) {
  Family family(2);
  EXPECT_EQ(family.share(each,
                         [](Family& f) {
                           const double c = f.number(0.05, 0.95), p = f.number(-0.9, 2);
                           return Case{fmt::format("abs(x-{})^({})", c, p),
                                       {0, 1},
                                       (std::pow(c, p + 1) + std::pow(1 - c, p + 1)) / (p + 1)};
                         }),
            1);
  EXPECT_EQ(family.share(each,
                         [](Family& f) {
                           const double n = std::round(f.number(1, 200));
                           return Case{fmt::format("abs(sin({}*pi*x))", n), {0, 1}, 2 / pi};
                         }),
            1);
  EXPECT_EQ(family.share(each,
                         [](Family& f) {
                           const double n = std::round(f.number(2, 300));
                           return Case{fmt::format("floor({}*x)", n), {0, 1}, (n - 1) / 2};
                         }),
            1);
  EXPECT_EQ(
      family.share(
          each,
          [](Family& f) {
            const double c = f.number(0.05, 0.95);
            return Case{fmt::format("max(x-{},0)+if(x<{},1,0)", c, c), {0, 1}, (1 - c) * (1 - c) / 2 + c};
          }),
      1);
  EXPECT_EQ(
      family.share(each,
                   [](Family& f) {
                     const double c = f.number(0.2, 0.8), w = std::pow(10, f.number(-5, -1));
                     return Case{fmt::format("x^2+(abs(x-{:.17g})<{:.17g})", c, w), {0, 1}, 1.0 / 3 + 2 * w};
                   }),
      1);
}

TEST(Auto, InfiniteRanges) {
  Family family(3);
  EXPECT_EQ(
      family.share(
          each,
          [](Family& f) {
            const double m = f.number(-40, 40), s = f.number(0.2, 5);
            return Case{fmt::format("exp(-((x-({}))/{})^2)", m, s), {-infinity, infinity}, s * std::sqrt(pi)};
          }),
      1);
  EXPECT_EQ(family.share(each,
                         [](Family& f) {
                           const double b = f.number(0.2, 5);
                           return Case{fmt::format("x^{}*exp(-x)", b), {0, infinity}, std::tgamma(1 + b)};
                         }),
            1);
  EXPECT_EQ(family.share(each,
                         [](Family& f) {
                           const double t = f.number(0.05, 0.95);
                           return Case{fmt::format("(1+x)^(-{})", 1 + t), {0, infinity}, 1 / t};
                         }),
            1);
  EXPECT_EQ(
      family.share(each,
                   [](Family& f) {
                     const double b = f.number(0.2, 5);
                     return Case{fmt::format("1/({}+x^2)", b), {-infinity, infinity}, pi / std::sqrt(b)};
                   }),
      1);
}

TEST(Auto, OscillatingTails) {
  Family family(4);
  EXPECT_EQ(family.share(each,
                         [](Family& f) {
                           return Case{fmt::format("sin({}*x)/x", f.number(0.2, 50)), {0, infinity}, pi / 2};
                         }),
            1);
  EXPECT_EQ(family.share(each,
                         [](Family& f) {
                           const double t = f.number(0.05, 0.95);
                           return Case{fmt::format("sin(x)*x^(-{})", t),
                                       {0, infinity},
                                       std::tgamma(1 - t) * std::cos(pi * t / 2)};
                         }),
            1);
  EXPECT_GE(family.share(
                each,
                [](Family& f) {
                  const double b = f.number(0.2, 5);
                  return Case{fmt::format("cos({}*x)/(1+x^2)", b), {-infinity, infinity}, pi * std::exp(-b)};
                }),
            0.8);
  EXPECT_EQ(family.share(each,
                         [](Family& f) {
                           const double b = f.number(0.2, 5);
                           return Case{fmt::format("cos({}*x^2)", b), {0, infinity}, std::sqrt(pi / (8 * b))};
                         }),
            1);
}

TEST(Auto, TailsOfOneSignThatOscillate) {
  for (const Case& one :
       std::vector<Case>{{"sin(x)^2/x^2", {-infinity, infinity}, pi},
                         {"sin(x)^2/x^2", {0, infinity}, pi / 2},
                         {"sin(40*x)^2/x^2", {-infinity, 0}, 20 * pi},
                         {"sin(x)^4/x^2", {0, infinity}, pi / 4},
                         {"(3+cos(2*x))/(1+x^2)", {-infinity, infinity}, 3 * pi + pi * std::exp(-2)}}) {
    const Answer answer = by_formula(one);
    EXPECT_TRUE(answer.converged() && honest(one, answer, 1e-10)) << report_of(one, answer);
  }
  // Slower ones are left, and those whose mean has no integral.
  for (const char* formula :
       {"cos(x)^2*x^-1.5", "abs(sin(x))/x^2", "sin(x)^2/x", "cos(x)^2/x^1.01", "(1+sin(x))/(x*log(x+1))"}) {
    const Case one{formula, {1, infinity}, nan};
    EXPECT_FALSE(by_formula(one).converged()) << report_of(one, by_formula(one));
  }
}

TEST(Auto, PeaksAndSwings) {
  Family family(5);
  EXPECT_GE(family.share(each,
                         [](Family& f) {
                           const double c = f.number(0.05, 0.95), w = f.number(1e-4, 1e-1);
                           return Case{fmt::format("{}/((x-{})^2+{}^2)", w, c, w),
                                       {0, 1},
                                       std::atan((1 - c) / w) + std::atan(c / w)};
                         }),
            0.9);
  EXPECT_GE(family.share(each,
                         [](Family& f) {
                           const double c = f.number(0.05, 0.95), k = f.number(10, 2000);
                           return Case{fmt::format("1/cosh({}*(x-{}))", k, c),
                                       {0, 1},
                                       (std::atan(std::sinh(std::fmin(k * (1 - c), 700))) +
                                        std::atan(std::sinh(std::fmin(k * c, 700)))) /
                                           k};
                         }),
            0.9);
  EXPECT_GE(family.share(each,
                         [](Family& f) {
                           const double k = f.number(10, 800);
                           return Case{fmt::format("cos({}*x)", k), {0, 1}, std::sin(k) / k};
                         }),
            0.7);
}

TEST(Auto, IntegralsThatDoNotExistHaveNoValue) {
  for (const Case& one : std::vector<Case>{{"1/x", {0, 1}, nan},
                                           {"1/(x-0.3)", {0, 1}, nan},
                                           {"1/(x-0.3)^2", {0, 1}, nan},
                                           {"x^-1.5", {0, 1}, nan},
                                           {"1/(1-x)", {0, 1}, nan},
                                           {"1/(1+x)", {0, infinity}, nan},
                                           {"exp(x)", {0, infinity}, nan},
                                           {"sin(x)", {0, infinity}, nan},
                                           {"x/(1+x^2)", {0, infinity}, nan},
                                           {"sqrt(x-0.5)", {0, 1}, nan},
                                           {"2", {0, infinity}, nan}}) {
    const Answer answer = by_formula(one);
    EXPECT_FALSE(answer.converged()) << report_of(one, answer);
    EXPECT_TRUE(std::isnan(answer.value)) << report_of(one, answer);
    EXPECT_TRUE(answer.without_limit() || answer.reason == Reason::non_finite) << report_of(one, answer);
  }
  // These tails drift without limit, or nearly, so no value may be claimed.
  for (const char* formula : {"(sin(x)+0.01)/x", "sin(x)^2/x", "(1+1/x)*sin(x)", "1/(x*log(x+1))"}) {
    const Case one{formula, {1, infinity}, nan};
    EXPECT_FALSE(by_formula(one).converged()) << report_of(one, by_formula(one));
  }
}

TEST(Auto, SwingsThatDoNotVanishHaveNoIntegral) {
  for (const char* formula :
       {"x^(1/x)*cos(pi*x)", "(1+1/sqrt(x))*cos(x)", "(1+1/x)*cos(x)", "(1+x^-0.05)*cos(x)",
        "(0.01+x^-0.5)*sin(3*x)", "(1+1/log(x+1))*cos(x)", "x^2/(1+x^2)*sin(x+1)", "atan(x)*cos(x)",
        "(1e-4+1/x)*cos(x)", "(1+x^-0.3)*cos(50*x)"}) {
    const Case one{formula, {1, infinity}, nan};
    const Answer answer = by_formula(one);
    EXPECT_TRUE(answer.without_limit()) << report_of(one, answer);
  }
  for (const char* formula : {"cos(x)/log(x+1)", "cos(x)*x^-0.05", "cos(x)/log(x+1)^2", "cos(x^2)",
                              "cos(x)*exp(-x/50)", "cos(x)*log(x)/x"}) {
    const Case one{formula, {1, infinity}, nan};
    EXPECT_TRUE(by_formula(one).converged()) << report_of(one, by_formula(one));
  }
}

TEST(Auto, DivergesOnlyBeyondTheLimitOfIntegrability) {
  for (const double share : {1e-12, 1e-9, 1e-8, 3e-8}) {
    for (const auto& [formula, range] :
         {std::pair{fmt::format("x^({:.17g})", share - 1), Range{0, 1}},
          std::pair{fmt::format("x^({:.17g})", -1 - share), Range{1, infinity}},
          std::pair{fmt::format("(-x)^({:.17g})", -1 - share), Range{-infinity, -1}},
          std::pair{fmt::format("(1-x)^({:.17g})", share - 1), Range{0, 1}}}) {
      const Case one{formula, range, 1 / share};
      EXPECT_EQ(by_formula(one).reason, Reason::may_diverge) << report_of(one, by_formula(one));
    }
  }
  for (const Case& one :
       {Case{"1/x", {0, 1}, nan}, Case{"1/x", {1, infinity}, nan}, Case{"3/(1-x)", {0, 1}, nan}})
    EXPECT_EQ(by_formula(one).reason, Reason::diverges) << report_of(one, by_formula(one));
}

TEST(Auto, ErrorsShowTheRoundingOfANarrowPeak) {
  for (const char* formula : {"exp(240.531*6.343*5.859/8.939-((x-0.758)/0.02)^2-1000)",
                              "exp(240.531*6.343*5.859/8.939-1000)*exp(-((x-0.758)/0.02)^2)"}) {
    const Case one{formula, {0, 1}, 0.0354759396863969632};
    EXPECT_TRUE(honest(one, by_formula(one), 1e-10)) << report_of(one, by_formula(one));
    EXPECT_EQ(by_formula(one, "auto", {.relative = 2e-14}).reason, Reason::roundoff);
  }
}

TEST(Auto, LogarithmsOfOnePlusXKeepTheirDigits) {
  for (const double c : {1.0, 2.0, 0.5, 3.0})
    for (const double length : {0.25, 0.5, 1.0, 2.0, 4.0, 0.9}) {
      const auto at = [&](const char* text) {
        return fmt::format(fmt::runtime(text), fmt::arg("c", c), fmt::arg("l", length));
      };
      const Case lower{at("1/sqrt(log(1+{c}*x))"),
                       {0, length},
                       by_formula({at("1/sqrt(log1p({c}*x))"), {0, length}, nan}).value};
      EXPECT_TRUE(by_formula(lower).converged() && honest(lower, by_formula(lower), 1e-10))
          << report_of(lower, by_formula(lower));
      const Case upper{at("1/sqrt(log(1+{c}*({l}-x)))"), {0, length}, lower.exact};
      EXPECT_TRUE(by_formula(upper).converged() && honest(upper, by_formula(upper), 1e-10))
          << report_of(upper, by_formula(upper));
    }
}

TEST(Auto, EqualLimitsNeedNoValue) {
  for (const char* formula : {"x^-0.5", "1/x", "log(-1-x)", "0/x"})
    for (const char* rule : {"auto", "tanh_sinh", "gauss_kronrod", "simpson"}) {
      const Answer answer = by_formula({formula, {0, 0}, 0}, rule);
      EXPECT_TRUE(answer.converged() && answer.value == 0 && answer.error() == 0) << rule << ": " << formula;
    }
}

TEST(Auto, GivenIntegralsAsFormulasAndAsCallables) {
  int formulas = 0, callables = 0, of_distance = 0, all = 0;
  for (const test::Given& given : test::given_integrals()) {
    const Case one{given.formula, given.range, given.exact};
    const auto program = formula::compile<double>(formula::parse(one.formula), {"x"});
    const auto call = plain([&program](double x) { return formula::interpret(program, &x); });
    const Answer by_text = by_formula(one), by_call = automatic(call, one.range);
    EXPECT_TRUE(honest(one, by_text, 1e-10)) << report_of(one, by_text);
    EXPECT_TRUE(honest(one, by_call, 1e-10)) << report_of(one, by_call);
    formulas += by_text.converged();
    callables += by_call.converged() && !given.distance;
    of_distance += given.distance;
    ++all;
  }
  EXPECT_GE(formulas, all - 2);
  EXPECT_GE(callables, all - of_distance - 4);
}

TEST(Auto, Callables) {
  const Case kink{"|x-0.3|", {0, 1}, 0.29};
  const Answer by_kink = automatic(plain([](double x) { return std::fabs(x - 0.3); }), kink.range);
  EXPECT_TRUE(by_kink.converged() && honest(kink, by_kink, 1e-10)) << report_of(kink, by_kink);
  const Case hole{"sin(x)/x", {-1, 1}, 1.8921661407343662};
  const Answer by_hole = automatic(plain([](double x) { return std::sin(x) / x; }), hole.range);
  EXPECT_TRUE(by_hole.converged() && honest(hole, by_hole, 1e-10)) << report_of(hole, by_hole);
  const Case shifted{"exp(x-1e6)", {1e6, 1e6 + 1}, std::numbers::e - 1};
  const Answer by_shift = automatic(plain([](double x) { return std::exp(x - 1e6); }), shifted.range, {1e-8});
  EXPECT_TRUE(by_shift.converged() && honest(shifted, by_shift, 1e-8)) << report_of(shifted, by_shift);
  const auto end = [](double, double d) { return d < 0 ? std::pow(-d, -0.8) : std::pow(1 - d, -0.8); };
  const Case singular{"(1-x)^-0.8", {0, 1}, 5};
  const Answer by_distance = automatic(with_distance(end), singular.range);
  EXPECT_TRUE(by_distance.converged() && honest(singular, by_distance, 1e-10))
      << report_of(singular, by_distance);
  // x alone has too few digits: the answer must not converge, and its error must be right.
  const Answer by_x = automatic(plain([](double x) { return std::pow(1 - x, -0.8); }), singular.range);
  EXPECT_FALSE(by_x.converged()) << report_of(singular, by_x);
}

TEST(Auto, LimitsAndOptions) {
  const auto f = plain([](double x) { return x * x; });
  EXPECT_NEAR(automatic(f, {0, 3}).value, 9, 1e-12);
  EXPECT_EQ(automatic(f, {3, 0}).value, -automatic(f, {0, 3}).value);
  EXPECT_EQ(automatic(f, {2, 2}).value, 0);
  EXPECT_THROW((void)automatic(f, {0, nan}), Error);
  EXPECT_THROW((void)automatic(f, {0, 1}, {-1, 0}), Error);
  EXPECT_THROW((void)automatic(f, {0, 1}, {0, 0}), Error);
  EXPECT_THROW((void)by_name("no_such_rule", f, {0, 1}, {}, {}, {}), Error);
  EXPECT_THROW((void)by_name("vegas", f, {0, 1}, {}, {}, {}), Error);
  const Answer capped = automatic(f, {0, 3}, {}, {.evaluations = 60});
  EXPECT_EQ(capped.reason, Reason::evaluations);
  EXPECT_LE(capped.evaluations, 60);
  const Answer zero = automatic(plain([](double) { return 0.0; }), {0, 1});
  EXPECT_EQ(zero.reason, Reason::doubtful);
  const double points[] = {0.25, 0.5, 7};
  EXPECT_TRUE(
      automatic(plain([](double x) { return x < 0.25  ? 1
                                            : x < 0.5 ? 5.0
                                                      : 2; }), {0, 1}, {}, {}, points)
          .converged());
}

TEST(Rules, ReportTheirError) {
  struct Named {
    const char* rule;
    Case one;
  };
  for (const Named& named :
       std::vector<Named>{{"tanh_sinh", {"1/sqrt(x)", {0, 1}, 2}},
                          {"tanh_sinh", {"exp(-x)*x^2", {0, infinity}, 2}},
                          {"gauss_kronrod", {"exp(x)", {0, 1}, std::numbers::e - 1}},
                          {"gauss_kronrod", {"exp(-x^2)", {-infinity, infinity}, std::sqrt(pi)}},
                          {"gauss_kronrod", {"abs(x-0.3)", {0, 1}, 0.29}},
                          {"epsilon", {"sin(x)/x", {0, infinity}, pi / 2}},
                          {"richardson", {"sqrt(1-x^2)", {0, 1}, pi / 4}},
                          {"simpson", {"exp(x)", {0, 1}, std::numbers::e - 1}}}) {
    const Answer answer = by_formula(named.one, named.rule);
    EXPECT_TRUE(answer.converged() && honest(named.one, answer, 1e-10))
        << named.rule << ": " << report_of(named.one, answer);
  }
  EXPECT_NEAR(by_formula({"sqrt(1-x^2)", {0, 1}, pi / 4}, "richardson").exponent, 1.5, 1e-3);
}

TEST(Rules, SquaresOfValuesMayOverflowOrVanish) {
  for (const char* rule : {"auto", "tanh_sinh", "gauss_kronrod", "richardson", "simpson"})
    for (const Case& one : std::vector<Case>{{"1e200*x", {0, 1}, 5e199},
                                             {"1e-200*x", {0, 1}, 5e-201},
                                             {"exp(x)", {0, 400}, std::exp(400.0)},
                                             {"exp(x)", {0, 600}, std::exp(600.0)},
                                             {"x^150", {0, 100}, 1e302 / 151}}) {
      const Answer answer = by_formula(one, rule);
      EXPECT_TRUE(answer.converged() && honest(one, answer, 1e-10)) << rule << ": " << report_of(one, answer);
    }
  // The relative error does not depend on the integrand's size.
  const auto relative_error = [](const char* formula, const char* rule) {
    const Answer answer = by_formula({formula, {1e6, 1e6 + 1}, nan}, rule, {.relative = 1e-6});
    return answer.error() / std::fabs(answer.value);
  };
  for (const char* rule : {"tanh_sinh", "gauss_kronrod", "simpson"}) {
    const double error = relative_error("sin(x)+2", rule);
    EXPECT_NEAR(relative_error("1e-200*(sin(x)+2)", rule) / error, 1, 1) << rule;
    EXPECT_NEAR(relative_error("1e200*(sin(x)+2)", rule) / error, 1, 1) << rule;
  }
}

TEST(Breakpoints, OfFormulas) {
  const auto of = [](const char* formula, Range range = {0, 1}) {
    return breakpoints(formula::parse(formula), "x", range);
  };
  EXPECT_TRUE(of("exp(x)*sin(3*x)").empty());
  EXPECT_EQ(of("abs(x-0.3)"), std::vector<double>{0.3});
  EXPECT_EQ(of("x<0.25 ? 1 : 2"), std::vector<double>{0.25});
  EXPECT_EQ(of("floor(4*x)"), (std::vector<double>{0.25, 0.5, 0.75}));
  EXPECT_EQ(of("log(x)+sqrt(1-x)"), std::vector<double>{});  // the ends
  EXPECT_EQ(of("abs(sin(x))", {0, 20}).size(), 6U);
  EXPECT_EQ(of("abs(abs(x-0.3)-1e-5)").size(), 3U);
  EXPECT_EQ(of("(x-0.3)^2<1e-8").size(), 2U);
  EXPECT_EQ(of("1/(x-0.5)"), std::vector<double>{0.5});
}

TEST(Samples, TrapezoidAndSimpson) {
  const double x[] = {0, 0.5, 1, 2, 3}, y[] = {0, 0.25, 1, 4, 9};
  EXPECT_NEAR(simpson_of(x, y).value, 9, 1e-12);
  EXPECT_NEAR(trapezoid_of(x, y).value, 0.0625 + 0.3125 + 2.5 + 6.5, 1e-12);
  const double again[] = {0, 0.5, 0.5, 2, 3};
  EXPECT_THROW((void)trapezoid_of(again, y), Error);
}

}  // namespace
}  // namespace tessera::quadrature
