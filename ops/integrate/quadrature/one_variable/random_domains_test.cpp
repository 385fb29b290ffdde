// SPDX-License-Identifier: Apache-2.0
// Random formulas without a value: undefined on part of the range, or divergent at a point or far out. Each
// has a twin with a value. No rule claims a value of the first kind, or a wrong one of the second, within its
// caps. TESSERA_FORMULAS sets their number, TESSERA_SEED the first seed.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <cmath>
#include <cstdlib>
#include <random>
#include <string>
#include "ops/integrate/quadrature/one_variable/auto.hpp"
#include "ops/integrate/quadrature/formula/formula_integrand.hpp"
#include "tessera/formula/tree.hpp"

namespace tessera::quadrature {
namespace {

class Generator {
 public:
  explicit Generator(unsigned seed) : random_(seed) {}

  struct Formula {
    std::string text;
    Range range;
    bool has_value;
    double exact;  // NaN: unknown
  };
  Formula next() {
    switch (below(5)) {
      case 0:
        return undefined();
      case 1:
        return with_pole();
      case 2:
        return with_tail();
      case 3:
        return with_rest();
      default:
        return undefined_far_out();
    }
  }

 private:
  double number(double from, double to) { return std::uniform_real_distribution<double>(from, to)(random_); }
  double size(double from, double to) { return std::exp(number(std::log(from), std::log(to))); }
  int below(int n) { return std::uniform_int_distribution<int>(0, n - 1)(random_); }
  template <std::size_t n>
  std::string one_of(const char* const (&all)[n], const std::string& of) {
    std::string text = all[below(n)];
    for (std::size_t at = 0; (at = text.find("{}", at)) != text.npos; at += of.size())
      text.replace(at, 2, of);
    return text;
  }
  // A function of u that is undefined for u < 0, and has a value for u from 0 to 2.
  std::string limited(const std::string& u) {
    return one_of({"sqrt({})", "log({})", "log1p({}-1)", "log2({})", "acosh({}+1)", "(2+asin({}-1))",
                   "acos({}-1)", "{}^0.3", "{}^(-0.4)", "pow({},1.5)", "sqrt({})*log({})", "1/(2+sqrt({}))"},
                  "(" + u + ")");
  }
  // A smooth factor without a zero.
  std::string factor() {
    return one_of({"1", "exp(-x*{})", "(2+sin({}*x))", "1/(1+({}*x)^2)", "(1.5+tanh({}*x))", "cosh({}*x/50)"},
                  fmt::format("{:.5g}", size(0.05, 3)));
  }
  Formula undefined() {
    const double lower = number(-5, 5), length = size(0.01, 2), share = size(0.005, 0.9);
    const bool whole = below(3) == 0, up = below(2) == 0;
    // u = 0 lies at the edge, and u > 0 on the side that is defined.
    const double edge = up ? lower + (whole ? 0 : share * length) : lower + length * (whole ? 1 : 1 - share);
    const std::string u = up ? fmt::format("x-({:.17g})", edge) : fmt::format("({:.17g})-x", edge);
    const double most = length / 50;
    return {factor() + "*" + limited(u) + (below(3) == 0 ? fmt::format("+{:.3g}*x", most) : ""),
            {lower, lower + length},
            whole,
            nan};
  }
  Formula undefined_far_out() {
    const double edge = size(0.05, 20);
    const bool ends = below(2) == 0;
    const std::string at = fmt::format("{:.6g}", edge), u = ends ? at + "-x" : "x-" + at;
    const std::string f = one_of({"sqrt({})", "log({})", "acosh({}+1)", "({})^0.3", "log2({})"}, u);
    return {one_of({"exp(-x)*{}", "exp(-x^2)*{}", "{}/(1+x^4)", "{}*x/(1+x)^5", "cos(x)*exp(-x)*{}"},
                   "(" + f + ")"),
            {0, infinity},
            false,
            nan};
  }
  // |x - c|^-p times a factor, from c, to c, or over it.
  Formula with_pole() {
    const double c = number(-3, 3), length = size(0.01, 20),
                 p = below(2) == 0 ? number(1, 3) : number(0.05, 0.95);
    const int where = below(3);
    const Range range{where == 0 ? c : c - length, where == 1 ? c : c + length};
    const std::string d = where == 0   ? fmt::format("(x-({:.17g}))", c)
                          : where == 1 ? fmt::format("(({:.17g})-x)", c)
                                       : fmt::format("abs(x-({:.17g}))", c);
    const double exact = p < 1 ? std::pow(length, 1 - p) / (1 - p) * (where == 2 ? 2 : 1) : nan;
    if (below(2) == 0) return {fmt::format("{}^(-{:.17g})", d, p), range, p < 1, exact};
    return {fmt::format("{}*{}^(-{:.17g})", factor(), d, p), range, p < 1, nan};
  }
  // A tail that falls off as x^-p, or does not.
  Formula with_tail() {
    const double p = below(2) == 0 ? number(-2, 0.99) : number(1.05, 4), a = size(0.1, 10);
    const std::string tail =
        one_of({"(x+{})^", "(x*(x+{}))^0.5^", "(1/(x+{}))^-1*(x+{})^-1*(x+{})^", "sqrt(x*x+{})^"},
               fmt::format("{:.17g}", a));
    const bool is_plain = tail == fmt::format("(x+{:.17g})^", a);
    const std::string bounded =
        one_of({"1", "1", "(2+sin(x))", "(1.5+tanh(x))", "(2+cos(x)/(1+x))", "atan(1+x)"}, "");
    const bool exact = is_plain && bounded == "1" && p > 1;
    const std::string base = tail.find("0.5^") != tail.npos
                                 ? fmt::format("(x*(x+{:.17g}))^({:.17g})", a, -p / 2)
                                 : tail + fmt::format("({:.17g})", -p);
    return {bounded + "*" + base,
            {tail.find("0.5^") != tail.npos ? 1.0 : 0.0, infinity},
            p > 1,
            exact ? std::pow(a, 1 - p) / (p - 1) : nan};
  }

  // A constant, or a term as 1/x, beside a term that fades.
  Formula with_rest() {
    const std::string rest = below(2) == 0
                                 ? fmt::format("{:.6g}", size(1e-280, 1e-3))
                                 : fmt::format("{:.6g}/(x+{:.3g})", size(1e-20, 1e-3), size(0.1, 10));
    return {one_of({"exp(-x)", "exp(-x^2)", "1/(1+x^2)", "x/(1+x)^4", "exp(-x)*sin(3*x)"}, "") +
                (below(2) == 0 ? "+" : "-") + rest,
            {0, infinity},
            false,
            nan};
  }

  std::mt19937_64 random_;
};

int of_environment(const char* name, int usual) {
  const char* const text = std::getenv(name);
  return text == nullptr ? usual : std::atoi(text);
}

TEST(RandomDomains, HaveNoFalseClaims) {
  const int formulas = of_environment("TESSERA_FORMULAS", 2000);
  const Limits limits{.evaluations = 200'000};
  int wrong = 0, converged = 0, with_value = 0;
  for (int i = 0; i < formulas; ++i) {
    const auto seed = static_cast<unsigned>(of_environment("TESSERA_SEED", 1) + i);
    const Generator::Formula one = Generator(seed).next();
    const Integrand f = integrand_of(formula::parse(one.text), "x", one.range);
    const Answer answer = automatic(f, one.range, {}, limits);
    with_value += one.has_value;
    converged += one.has_value && answer.converged();
    const bool off = std::fabs(answer.value - one.exact) > answer.error() + 1e-9 * std::fabs(one.exact);
    if ((answer.converged() && (!one.has_value || off)) || answer.evaluations > limits.evaluations ||
        (one.has_value && answer.reason == Reason::diverges)) {
      ++wrong;
      fmt::print("seed {}: {} from {:.17g} to {:.17g}: {:.17g} ± {:.2g}, exact {:.17g}, {} after {} points\n",
                 seed, one.text, one.range.lower, one.range.upper, answer.value, answer.error(), one.exact,
                 reason_text(answer), answer.evaluations);
    }
  }
  fmt::print("{} formulas, {} with a value, of which {} converged\n", formulas, with_value, converged);
  EXPECT_EQ(wrong, 0);
  EXPECT_GE(converged, with_value * 9 / 10);
}

}  // namespace
}  // namespace tessera::quadrature
