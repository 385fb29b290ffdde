// SPDX-License-Identifier: Apache-2.0
// Integrals of one variable whose values are known to 30 digits: those on which libraries are tried, and
// those on which some have failed.
#pragma once
#include <cmath>
#include <numbers>
#include <string>
#include <vector>
#include "ops/integrate/quadrature/integrand.hpp"

namespace tessera::quadrature {

struct Known {
  std::string id, text;
  Range range;
  double exact;
  std::string source;
  Integrand f;
};

namespace known {

constexpr double pi = std::numbers::pi;

inline double below(double x, double d, double upper) { return d < 0 ? -d : upper - x; }  // upper - x
inline double above(double x, double d, double lower) { return d >= 0 ? d : x - lower; }  // x - lower

inline double sech(double x) { return 1 / std::cosh(x); }

inline std::vector<Known> smooth() {
  return {
      {"S1",
       "sqrt(1-x^2)",
       {0, 1},
       0.78539816339744830961566084582,
       "the trapezoid note",
       plain([](double x) { return std::sqrt(1 - x * x); })},
      {"S2", "4/(1+x^2)", {0, 1}, 3.14159265358979323846264338328, "classic", plain([](double x) {
         return 4 / (1 + x * x);
       })},
      {"S3", "exp(x)", {0, 1}, 1.71828182845904523536028747135, "Kahaner 1", plain([](double x) {
         return std::exp(x);
       })},
      {"S6", "1/(1+x)", {0, 1}, 0.693147180559945309417232121458, "Kahaner 10", plain([](double x) {
         return 1 / (1 + x);
       })},
      {"S7", "1/(1+exp(x))", {0, 1}, 0.37988549304172247536823662649, "Kahaner 11", plain([](double x) {
         return 1 / (1 + std::exp(x));
       })},
      {"S8", "1/(x^2+1.005)", {-1, 1}, 1.56439644406904977309149301581, "Kahaner 20", plain([](double x) {
         return 1 / (x * x + 1.005);
       })},
      {"O1", "cos(32*sin(x))", {0, pi}, 0.433788002634733548458000478617, "QUADPACK f3", plain([](double x) {
         return std::cos(32 * std::sin(x));
       })},
      {"O2",
       "exp(20*(x-1))*sin(256*x)",
       {0, 1},
       -0.000148594479678924305369050722537,
       "QUADPACK f12",
       plain([](double x) { return std::exp(20 * (x - 1)) * std::sin(256 * x); })},
      {"O6",
       "4*pi^2*x*sin(20*pi*x)*cos(2*pi*x)",
       {0, 1},
       -0.634665182543392573426796643087,
       "Kahaner 22",
       plain([](double x) { return 4 * pi * pi * x * std::sin(20 * pi * x) * std::cos(2 * pi * x); })},
  };
}

inline std::vector<Known> singular() {
  return {
      {"O3",
       "cos(64*x)/sqrt(x*(1-x))",
       {0, 1},
       0.361876085305354352797704381745,
       "QUADPACK f13",
       with_distance([](double x, double d) { return std::cos(64 * x) / std::sqrt(x * below(x, d, 1)); })},
      {"E3", "log(x)/sqrt(x)", {0, 1}, -4, "GSL's manual", plain([](double x) {
         return std::log(x) / std::sqrt(x);
       })},
      {"E4", "1/sqrt(x)", {0, 1}, 2, "Kahaner 7", plain([](double x) { return 1 / std::sqrt(x); })},
      {"E5", "log(x)", {0, 1}, -1, "Kahaner 19", plain([](double x) { return std::log(x); })},
      {"E8",
       "1/((x+1.0625)*sqrt(1-x^2))",
       {-1, 1},
       8.75009736167282954169372818318,
       "QUADPACK f9",
       with_distance([](double x, double d) {
         const double low = above(x, d, -1), high = below(x, d, 1);
         return 1 / ((low + 0.0625) * std::sqrt(low * high));
       })},
      {"E9",
       "sin(x)^(-0.7)",
       {0, pi / 2},
       3.98078625247829846339136078527,
       "QUADPACK f10",
       plain([](double x) { return std::pow(std::sin(x), -0.7); })},
      {"E10",
       "log(1/x)^(-0.7)",
       {0, 1},
       2.9915689876875906283125165159,
       "QUADPACK f11",
       with_distance(
           [](double x, double d) { return std::pow(d < 0 ? -std::log1p(d) : -std::log(x), -0.7); })},
      {"E13",
       "sqrt(x/(1-x^2))",
       {0, 1},
       1.19814023473559220743992249228,
       "Boost's documentation",
       with_distance([](double x, double d) { return std::sqrt(x / (below(x, d, 1) * (1 + x))); })},
      {"E14", "x^(-x)", {0, 1}, 1.2912859970626635404072825906, "classic", plain([](double x) {
         return std::pow(x, -x);
       })},
      {"X3", "log(x)/(1+log(x)^2)^2", {0, 1}, -0.18927518788209332118, "QUADPACK f458", plain([](double x) {
         const double l = std::log(x);
         return l / ((1 + l * l) * (1 + l * l));
       })},
  };
}

inline std::vector<Known> broken() {
  return {
      {"D1", "x>=0.3", {0, 1}, 0.7, "Kahaner 2", plain([](double x) { return x >= 0.3 ? 1.0 : 0.0; })},
      {"D4", "abs(x-pi/4)^0.4", {0, 1}, 0.592152779293660421158372937529, "QUADPACK f8", plain([](double x) {
         return std::pow(std::fabs(x - pi / 4), 0.4);
       })},
      {"D5",
       "exp(abs(x-0.499))",
       {0, 1},
       1.29744419012166438726925321635,
       "QuadGK issue 26",
       plain([](double x) { return std::exp(std::fabs(x - 0.499)); })},
      {"D6", "x<1 ? x+1 : x<=3 ? 3-x : 2", {0, 5}, 7.5, "Kahaner 25", plain([](double x) {
         return x < 1 ? x + 1 : x <= 3 ? 3 - x : 2;
       })},
      {"P3",
       "50/(pi*(2500*x^2+1))",
       {0, 10},
       0.499363381076456744636248518312,
       "Kahaner 16",
       plain([](double x) { return 50 / (pi * (2500 * x * x + 1)); })},
      {"P4",
       "1/(1+(230*x-30)^2)",
       {0, 1},
       0.0134924856494677726918854762486,
       "Kahaner 23",
       plain([](double x) { return 1 / (1 + (230 * x - 30) * (230 * x - 30)); })},
      {"P5",
       "1/cosh(20*(x-0.2))+1/cosh(400*(x-0.4))+1/cosh(8000*(x-0.6))",
       {0, 1},
       0.163494943018637226181646397965,
       "Kahaner 21 as GSL has it",
       plain([](double x) { return sech(20 * (x - 0.2)) + sech(400 * (x - 0.4)) + sech(8000 * (x - 0.6)); })},
  };
}

inline std::vector<Known> infinite() {
  return {
      {"O7", "sin(x)/x", {0, infinity}, 1.57079632679489661923132169164, "Dirichlet", plain([](double x) {
         return std::sin(x) / x;
       })},
      {"O8", "cos(pi*x/2)/sqrt(x)", {0, infinity}, 1, "QUADPACK f457", plain([](double x) {
         return std::cos(pi * x / 2) / std::sqrt(x);
       })},
      {"I1",
       "exp(-x-x^2)",
       {-infinity, infinity},
       2.27587579446874723551960576383,
       "GSL",
       plain([](double x) { return std::exp(-x - x * x); })},
      {"I2",
       "exp(-x^2)",
       {-infinity, infinity},
       1.77245385090551602729816748334,
       "SciPy issue 10305",
       plain([](double x) { return std::exp(-x * x); })},
      {"I3",
       "log(x)/(1+100*x^2)",
       {0, infinity},
       -0.361689220620773240624502327513,
       "QUADPACK f455",
       plain([](double x) { return std::log(x) / (1 + 100 * x * x); })},
      {"I6",
       "exp(-x/2)*cos(x)/sqrt(x)",
       {0, infinity},
       1.42593179252238566753651454447,
       "QUADPACK f14",
       plain([](double x) { return std::exp(-x / 2) * std::cos(x) / std::sqrt(x); })},
      {"I7", "1/x^3", {1e2, 1e7}, 0.000049999999995, "SciPy issue 5428", plain([](double x) {
         return 1 / (x * x * x);
       })},
      {"I8",
       "x*exp(-(x-800)^2/2)/sqrt(2*pi)",
       {-infinity, infinity},
       800,
       "SciPy issue 5735",
       plain([](double x) { return x * std::exp(-(x - 800) * (x - 800) / 2) / std::sqrt(2 * pi); })},
  };
}

}  // namespace known

inline std::vector<Known> known_integrals() {
  std::vector<Known> out;
  for (const auto& group : {known::smooth(), known::singular(), known::broken(), known::infinite()})
    out.insert(out.end(), group.begin(), group.end());
  return out;
}

}  // namespace tessera::quadrature
