// SPDX-License-Identifier: Apache-2.0
#include "tessera/formula/distance.hpp"
#include <gtest/gtest.h>
#include <cmath>
#include <limits>
#include "tessera/formula/program.hpp"

namespace tessera::formula {
namespace {

// The value at `distance` from the end.
double value(std::string_view text, End end, double at, double distance) {
  const AtEnd f = with_distance(parse(text), "x", end, at);
  const double x = end == End::lower ? at + distance : at - distance;
  return evaluate<double>(compile<double>(f.tree, {"x", std::string(distance_name)}),
                          std::vector<double>{x, distance});
}

bool changes(std::string_view text, End end, double at) {
  return with_distance(parse(text), "x", end, at).exact;
}

TEST(Distance, KeepsItsDigitsNearAnEnd) {
  const double d = 1e-30;
  EXPECT_EQ(value("1-x", End::upper, 1, d), d);
  EXPECT_DOUBLE_EQ(value("1-x^2", End::upper, 1, d), 2 * d);
  EXPECT_DOUBLE_EQ(value("sqrt((1-x)*(1+x))", End::upper, 1, d), std::sqrt(2 * d));
  EXPECT_DOUBLE_EQ(value("1-x^2", End::lower, -1, d), 2 * d);
  EXPECT_DOUBLE_EQ(value("x*(1-x)", End::upper, 1, d), d);
  EXPECT_DOUBLE_EQ(value("(x-3)^-0.5", End::lower, 3, d), 1 / std::sqrt(d));
  EXPECT_DOUBLE_EQ(value("1-x^4", End::upper, 1, d), 4 * d);
  EXPECT_DOUBLE_EQ(value("(1-x)^2*sin(x)", End::upper, 1, d), d * d * std::sin(1.0));
  EXPECT_DOUBLE_EQ(value("1/sqrt(-log(x))", End::upper, 1, d), 1 / std::sqrt(d));
  EXPECT_DOUBLE_EQ(value("log(2-x)", End::upper, 1, d), d);
  EXPECT_DOUBLE_EQ(value("0.1-x", End::upper, 0.1, d), d);
  EXPECT_DOUBLE_EQ(value("2*pi-x", End::upper, 2 * M_PI, d), d);
  EXPECT_DOUBLE_EQ(value("1/((x+1+2^-4)*sqrt(1-x^2))", End::lower, -1, d), 16 / std::sqrt(2 * d));
}

// Beyond polynomials: what the limit and its neighbours are is known of many functions.
TEST(Distance, KeepsTheDigitsOfFunctionsThatVanish) {
  const double d = 1e-30;
  EXPECT_DOUBLE_EQ(value("log(1/x)^-0.7", End::upper, 1, d), std::pow(d, -0.7));
  EXPECT_DOUBLE_EQ(value("x^3/(exp(x)-1)", End::lower, 0, d), d * d);
  EXPECT_DOUBLE_EQ(value("(1-cos(x))/x^2", End::lower, 0, d), 0.5);
  EXPECT_DOUBLE_EQ(value("1-sqrt(x)", End::upper, 1, d), d / 2);
  EXPECT_DOUBLE_EQ(value("1-x^0.3", End::upper, 1, d), 0.3 * d);
  EXPECT_DOUBLE_EQ(value("acos(x)", End::upper, 1, d), std::sqrt(2 * d));
  EXPECT_DOUBLE_EQ(value("acosh(x)", End::lower, 1, d), std::sqrt(2 * d));
  EXPECT_DOUBLE_EQ(value("cosh(x)-1", End::lower, 0, d), d * d / 2);
  EXPECT_DOUBLE_EQ(value("exp(2*x)-exp(x)", End::lower, 0, d), d);
  EXPECT_DOUBLE_EQ(value("1/x-1", End::upper, 1, d), d);
  EXPECT_DOUBLE_EQ(value("x/(2-x)-1", End::upper, 1, d), -2 * d);
  EXPECT_DOUBLE_EQ(value("log2(x)", End::upper, 1, d), -d / M_LN2);
  EXPECT_DOUBLE_EQ(value("sqrt(x)*sin(x)+tan(x)", End::lower, 0, d), d + d * std::sqrt(d));
  EXPECT_DOUBLE_EQ(value("1-x*exp(x-1)", End::upper, 1, d), 2 * d);
  EXPECT_DOUBLE_EQ(value("1-2*x+x^2", End::upper, 1, d), d * d);
}

TEST(Distance, FarFromTheEndItIsTheFormula) {
  for (const double d : {0.125, 0.5, 0.875})
    for (const char* text :
         {"log(1/x)", "1-sqrt(x)", "1-x^0.3", "acos(x)", "1/x-1", "1-x*exp(x-1)", "x/(2-x)-1",
          "log2(x)+log10(x)", "exp(x-1)-cos(x-1)", "cosh(1-x)-1", "cos(1-x)-1", "sqrt(x)-x^1.5"})
      EXPECT_NEAR(value(text, End::upper, 1, d),
                  evaluate<double>(compile<double>(parse(text), {"x"}), std::vector<double>{1 - d}), 4e-15)
          << text << " at " << d;

  for (const double d : {0.125, 0.5, 0.875})
    for (const char* text : {"sqrt(1-x^2)", "x*(1-x)*exp(x)", "log(x)*(1-x)", "1-x^3", "x^2-1"})
      EXPECT_NEAR(value(text, End::upper, 1, d),
                  evaluate<double>(compile<double>(parse(text), {"x"}), std::vector<double>{1 - d}), 1e-15)
          << text;
}

TEST(Distance, KeepsFormulasWithoutAnExactRoot) {
  EXPECT_FALSE(changes("2-x", End::upper, 1));
  EXPECT_FALSE(changes("x^2-2", End::upper, std::sqrt(2.0)));
  EXPECT_FALSE(changes("a-x", End::upper, 1));
  EXPECT_FALSE(changes("sin(x)", End::upper, 1));
  EXPECT_FALSE(changes("1-x", End::upper, std::numeric_limits<double>::infinity()));
  EXPECT_FALSE(changes("1-y", End::upper, 1));
  EXPECT_TRUE(changes("log(x)/sqrt(x)", End::lower, 0));
  EXPECT_TRUE(with_distance(substitute(parse("a-x"), "a", 1), "x", End::upper, 1).exact);
}

TEST(Distance, AcceptsConstantParts) {
  EXPECT_DOUBLE_EQ(value("0^0.5*x+exp(0)*x+0*x+sqrt(0)", End::lower, 0, 0.25), 0.25);
  EXPECT_DOUBLE_EQ(value("log(1)+cos(0)*(1-x)/1+0/(2-x)", End::upper, 1, 0.25), 0.25);
}

TEST(Distance, AcceptsALongFormula) {
  std::string text = "sin(x)";
  for (int i = 0; i < 1300; ++i) text += "+sin(x)";
  EXPECT_TRUE(changes(text, End::lower, 0));
  std::string product = "x";
  for (int i = 0; i < 200; ++i) product += "*(1-x)";
  EXPECT_EQ(value(product, End::lower, 0, 1e-20), 1e-20);
}

TEST(Distance, TheEndMayBeGivenExactly) {
  EXPECT_EQ(value("sqrt(1-x^2)", End::upper, 1, 0), 0);
  EXPECT_EQ(value("x^0.3", End::lower, 0, 0), 0);
}

}  // namespace
}  // namespace tessera::formula
