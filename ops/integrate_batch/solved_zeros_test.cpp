// SPDX-License-Identifier: Apache-2.0
// Needles, steps and kinks at places that the text can be solved for: exp(x)-k is 0 at log(k).
#include <algorithm>
#include <numbers>
#include "batch_testing.hpp"
#include "solved_zeros.hpp"

namespace tessera::integrate_batch {
namespace {

std::vector<std::string> texts_of(const std::string& formula) {
  std::vector<std::string> out;
  for (const formula::Tree& tree : solved_zeros(formula::parse(formula), "x"))
    out.push_back(formula::to_text(tree));
  return out;
}

// Where solved_zeros of the formula with k = 0.7 lie.
void expect_zeros(const std::string& formula, std::vector<double> zeros) {
  std::vector<double> found;
  for (const std::string& text : texts_of(formula)) {
    const auto program = formula::compile<double>(formula::parse(text), {"k"});
    const double k = 0.7;
    found.push_back(integration::evaluate(program, &k));
  }
  std::erase_if(found, [](double x) { return std::isnan(x); });
  std::ranges::sort(found);
  ASSERT_EQ(found.size(), zeros.size()) << formula;
  for (std::size_t i = 0; i < zeros.size(); ++i) EXPECT_NEAR(found[i], zeros[i], 1e-15) << formula;
}

TEST(SolvedZeros, AreWherePartsAreZeroThatFunctionsBendAt) {
  const double root = std::sqrt(0.7);
  expect_zeros("abs(exp(x)-k)", {std::log(0.7)});
  expect_zeros("exp(-((x*x-k)/1e-3)^2)", {-root, root});
  expect_zeros("1/(1e-6+(log(1+x^2)-k)^2)", {-std::sqrt(std::expm1(0.7)), std::sqrt(std::expm1(0.7))});
  expect_zeros("(sinh(2*x-1)<k)", {(1 + std::asinh(0.7)) / 2});
  expect_zeros("max(0,0.1-abs(x^3-k))", {std::cbrt(0.6), std::cbrt(0.7), std::cbrt(0.8)});
  expect_zeros("sign(3/(2+x)-k)", {3 / 0.7 - 2});
  expect_zeros("log(abs(2^x-k))", {std::log2(0.7)});
  expect_zeros("abs(cosh(x)-1-k)", {-std::acosh(1.7), std::acosh(1.7)});
}

// A polynomial's zeros are no special places, nor does what has none show any; others cost cells for nothing.
TEST(SolvedZeros, AreNotThoseOfSmoothFormulas) {
  for (const char* const formula : {"x*x-k", "exp(-x*x)", "1/(1+k^2*x^2)", "exp(x^2-k)", "cos(x*x-k)*exp(x)",
                                    "(x*x-k)^3+exp(x)-k", "sqrt(1+x*x)", "exp(-k*x)*cos(x)",
                                    "sqrt(x)*cos(k*x)*exp(-x*x)", "x*exp(x)", "abs(cos(x)-k)", "abs(x-k)"})
    EXPECT_EQ(texts_of(formula), std::vector<std::string>{}) << formula;
}

struct Inner {
  const char *text, *slope;
  double (*at)(double);
  double from, to;
};

const Inner inner[] = {{"x*x", "2*x", [](double x) { return x * x; }, 0, 3},
                       {"exp(x)", "exp(x)", [](double x) { return std::exp(x); }, -2, 5},
                       {"sinh(x)", "cosh(x)", [](double x) { return std::sinh(x); }, -3, 4},
                       {"log(1+x^2)", "2*x/(1+x^2)", [](double x) { return std::log1p(x * x); }, 1, 9},
                       {"x^3", "3*x^2", [](double x) { return x * x * x; }, -1, 2},
                       {"2/(1+x)", "2/(1+x)^2", [](double x) { return 2 / (1 + x); }, 0, 4},
                       {"tanh(x)", "1/cosh(x)^2", [](double x) { return std::tanh(x); }, -2, 2}};

struct Shape {
  const char* text;
  double area, least_share;
  bool jumps;
};

// The slope makes the integral that of the shape alone.
TEST(SolvedZeros, WhatStandsThereIsSeen) {
  const Shape shapes[] = {{"exp(-(({}-k)/1e-5)^2)", 1e-5 * std::sqrt(std::numbers::pi), 0.95, false},
                          {"(abs({}-k)<1e-6)", 2e-6, 1, true},
                          {"max(0,1e-4-abs({}-k))", 1e-8, 1, false}};
  constexpr int n = 60;
  for (const Inner& in : inner)
    for (const Shape& shape : shapes) {
      const double low = std::min(in.at(in.from), in.at(in.to)),
                   high = std::max(in.at(in.from), in.at(in.to));
      const double from = low + 0.06 * (high - low), to = low + 0.94 * (high - low), unit = 1 / shape.area;
      const std::string formula =
          fmt::format("{}*{}*", number(unit), in.slope) + fmt::format(fmt::runtime(shape.text), in.text);
      const Batch batch =
          ran(arguments_of(formula, number(in.from) + " " + number(in.to),
                           fmt::format("k={}:{}", number(from), number(to)), n, {{"relative", "1e-6"}}));
      // What rounding the inner part moves a jump by on either side no cell sees.
      const double own =
          shape.jumps ? 2 * 4 * 0x1p-53 * std::max(std::fabs(low), std::fabs(high)) / shape.area : 0;
      int met = 0;
      for (std::size_t i = 0; i < batch.size(); ++i) {
        const double off = std::fabs(batch.value[i] - 1);
        if (batch.why[i] == converged) {
          EXPECT_LE(off, std::min(batch.error[i] + own + 1e-15, 1e-6 + own)) << formula << " " << i;
        }
        met += batch.why[i] == converged;
      }
      EXPECT_GE(met, shape.least_share * n)
          << formula << ": " << std::get<std::string>(batch.told.at("reason"));
    }
}

}  // namespace
}  // namespace tessera::integrate_batch
