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

TEST(Distance, FarFromTheEndItIsTheFormula) {
  for (const double d : {0.125, 0.5, 0.875})
    for (const char* text : {"sqrt(1-x^2)", "x*(1-x)*exp(x)", "log(x)*(1-x)", "1-x^3", "x^2-1"})
      EXPECT_NEAR(value(text, End::upper, 1, d),
                  evaluate<double>(compile<double>(parse(text), {"x"}), std::vector<double>{1 - d}), 1e-15)
          << text;
}

TEST(Distance, LeavesAloneWhatHasNoExactRootThere) {
  EXPECT_FALSE(changes("2-x", End::upper, 1));
  EXPECT_FALSE(changes("x^2-2", End::upper, std::sqrt(2.0)));
  EXPECT_FALSE(changes("a-x", End::upper, 1));
  EXPECT_FALSE(changes("sin(x)", End::upper, 1));
  EXPECT_FALSE(changes("1-x", End::upper, std::numeric_limits<double>::infinity()));
  EXPECT_FALSE(changes("1-y", End::upper, 1));
  EXPECT_TRUE(changes("log(x)/sqrt(x)", End::lower, 0));
  EXPECT_TRUE(with_distance(substitute(parse("a-x"), "a", 1), "x", End::upper, 1).exact);
}

TEST(Distance, TheEndMayBeGivenExactly) {
  EXPECT_EQ(value("sqrt(1-x^2)", End::upper, 1, 0), 0);
  EXPECT_EQ(value("x^0.3", End::lower, 0, 0), 0);
}

}  // namespace
}  // namespace tessera::formula
