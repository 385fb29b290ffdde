// SPDX-License-Identifier: Apache-2.0
// Integrals of one variable on which libraries are tried, and some on which libraries have failed: from
// QUADPACK, Kahaner's list, and the manuals and issues of GSL, SciPy, QuadGK and Boost.
#pragma once
#include <numbers>
#include <string>
#include <vector>
#include "ops/integrate/quadrature/integrand.hpp"

namespace tessera::test {

struct Given {
  std::string formula;
  quadrature::Range range;
  double exact;
  bool distance = false;  // only the distance to an end has its digits
};

inline std::vector<Given> given_integrals() {
  constexpr double pi = std::numbers::pi, infinity = quadrature::infinity;
  return {
      {"sqrt(1-x^2)", {0, 1}, 0.78539816339744830961566084582},
      {"4/(1+x^2)", {0, 1}, 3.14159265358979323846264338328},
      {"exp(x)", {0, 1}, 1.71828182845904523536028747135},
      {"1/(1+x)", {0, 1}, 0.693147180559945309417232121458},
      {"1/(1+exp(x))", {0, 1}, 0.37988549304172247536823662649},
      {"1/(x^2+1.005)", {-1, 1}, 1.56439644406904977309149301581},
      {"cos(32*sin(x))", {0, pi}, 0.433788002634733548458000478617},
      {"exp(20*(x-1))*sin(256*x)", {0, 1}, -0.000148594479678924305369050722537},
      {"4*pi^2*x*sin(20*pi*x)*cos(2*pi*x)", {0, 1}, -0.634665182543392573426796643087},
      {"cos(64*x)/sqrt(x*(1-x))", {0, 1}, 0.361876085305354352797704381745, true},
      {"log(x)/sqrt(x)", {0, 1}, -4},
      {"1/sqrt(x)", {0, 1}, 2},
      {"log(x)", {0, 1}, -1},
      {"1/((x+1.0625)*sqrt(1-x^2))", {-1, 1}, 8.75009736167282954169372818318, true},
      {"sin(x)^(-0.7)", {0, pi / 2}, 3.98078625247829846339136078527},
      {"log(1/x)^(-0.7)", {0, 1}, 2.9915689876875906283125165159, true},
      {"sqrt(x/(1-x^2))", {0, 1}, 1.19814023473559220743992249228, true},
      {"x^(-x)", {0, 1}, 1.2912859970626635404072825906},
      {"log(x)/(1+log(x)^2)^2", {0, 1}, -0.18927518788209332118},
      {"x>=0.3", {0, 1}, 0.7},
      {"abs(x-pi/4)^0.4", {0, 1}, 0.592152779293660421158372937529},
      {"exp(abs(x-0.499))", {0, 1}, 1.29744419012166438726925321635},
      {"x<1 ? x+1 : x<=3 ? 3-x : 2", {0, 5}, 7.5},
      {"50/(pi*(2500*x^2+1))", {0, 10}, 0.499363381076456744636248518312},
      {"1/(1+(230*x-30)^2)", {0, 1}, 0.0134924856494677726918854762486},
      {"1/cosh(20*(x-0.2))+1/cosh(400*(x-0.4))+1/cosh(8000*(x-0.6))",
       {0, 1},
       0.163494943018637226181646397965},
      {"sin(x)/x", {0, infinity}, 1.57079632679489661923132169164},
      {"cos(pi*x/2)/sqrt(x)", {0, infinity}, 1},
      {"exp(-x-x^2)", {-infinity, infinity}, 2.27587579446874723551960576383},
      {"exp(-x^2)", {-infinity, infinity}, 1.77245385090551602729816748334},
      {"log(x)/(1+100*x^2)", {0, infinity}, -0.361689220620773240624502327513},
      {"exp(-x/2)*cos(x)/sqrt(x)", {0, infinity}, 1.42593179252238566753651454447},
      {"1/x^3", {1e2, 1e7}, 0.000049999999995},
      {"x*exp(-(x-800)^2/2)/sqrt(2*pi)", {-infinity, infinity}, 800},
  };
}

}  // namespace tessera::test
