// SPDX-License-Identifier: Apache-2.0
// Integrals of several variables whose values are known, as formulas: those on which integrators are tried.
#pragma once
#include <cmath>
#include <fmt/format.h>
#include <functional>
#include <numbers>
#include <string>
#include <vector>
#include "ops/integrate/quadrature/box.hpp"

namespace tessera::quadrature::known {

struct OfSeveral {
  std::string id, formula;
  int dimensions;
  Range range;  // of every axis
  double exact;

  std::vector<std::string> variables() const {
    std::vector<std::string> out;
    for (int i = 1; i <= dimensions; ++i) out.push_back(fmt::format("x{}", i));
    return out;
  }
};

// A term for each axis, its number in place of #, joined.
inline std::string each(int dimensions, const std::string& term, const std::string& join) {
  std::string out;
  for (int i = 1; i <= dimensions; ++i) {
    if (i > 1) out += join;
    for (const char c : term) out += c == '#' ? std::to_string(i) : std::string(1, c);
  }
  return out;
}

inline std::vector<OfSeveral> of_several() {
  constexpr double pi = std::numbers::pi;
  return {
      {"M1", "cos(" + each(8, "#*x#", "+") + ")", 8, {0, 1}, 0.00003439557952183251585157811},
      {"M2", "1/(" + each(6, "(1/2500+(x#-0.5)^2)", "*") + ")", 6, {0, 1}, 12868879901109.87754421518},
      {"M3", "(1+" + each(8, "#*x#", "+") + ")^-9", 8, {0, 1}, 2.275196581791775607606033e-10},
      {"M5", "exp(-10*(" + each(8, "abs(x#-0.5)", "+") + "))", 8, {0, 1}, 0.000002425217625641885556922992},
      {"M6",
       each(6, "x#<(3+#)/10", " and ") + " ? exp(" + each(6, "(#+4)*x#", "+") + ") : 0",
       6,
       {0, 1},
       154773678.850912074128502},
      {"M7", "sqrt(x1^2+x2^2+x3^2)<0.50124145262344534123", 3, {0, 1}, 0.06593857571608040806990913},
      {"M10", each(8, "abs(4*x#-2)", "*"), 8, {0, 1}, 1},
      {"M11", "sin(" + each(6, "x#", "+") + ")", 6, {0, 10}, -49.16507381641945731050132},
      {"M12", "exp(-(" + each(9, "x#^2", "+") + ")/2e-4)/(0.01*sqrt(2*pi))^9", 9, {-1, 1}, 1},
      {"M15", "1/(pi^3*(1-cos(x1)*cos(x2)*cos(x3)))", 3, {0, pi}, 1.393203929685676859184246},
      {"M16", "sqrt(x1^2+x2^2)", 2, {0, 1}, 0.765195716464212691344766},
      {"M17", "sqrt(x1^2+x2^2+x3^2)", 3, {0, 1}, 0.960591956455052959425108},
      {"M20", "pi^-1.5*(x1^2+x2^2+x3^2)*exp(-(x1^2+x2^2+x3^2))", 3, {-100, 100}, 1.5},
      {"M21", "abs(cos(4*x1+5*x2+6*x3+7*x4+8*x5))", 5, {0, 1}, 0.6366184591824905597188827},
      {"M22", each(10, "(2*x#)", "*"), 10, {0, 1}, 1},
      {"a bell", "exp(-(" + each(4, "x#^2", "+") + ")/2)", 4, {-infinity, infinity}, 4 * pi * pi},
      {"a fall", "exp(-(" + each(5, "x#", "+") + "))", 5, {0, infinity}, 1},
      {"24 axes", each(24, "(0.5+x#)", "*"), 24, {0, 1}, 1}};
}

}  // namespace tessera::quadrature::known
