// SPDX-License-Identifier: Apache-2.0
#include "ops/integrate/rules/unseen.hpp"
#include <algorithm>
#include <cmath>

namespace tessera::quadrature {

// Shells whose distances from the end double, each taken for as high as the higher of its edges.
Unseen unseen_beside(const Integrand& f, double end, double inwards, double reach) {
  constexpr int shells = 24;
  double distance[shells + 1], x[shells + 1], y[shells + 1];
  for (int k = 0; k <= shells; ++k) {
    distance[k] = std::ldexp(reach, -k);
    x[k] = end + inwards * distance[k];
  }
  f.in_double(x, y);
  Unseen out;
  double lowest = infinity, highest = -infinity;
  for (int k = 0; k <= shells; ++k) {
    if (!std::isfinite(y[k])) return {};
    lowest = std::fmin(lowest, y[k]);
    highest = std::fmax(highest, y[k]);
    const int nearer = std::min(k + 1, shells);
    const double width = k < shells ? distance[k] - distance[nearer] : distance[k];
    out.mass += width * std::fmax(std::fabs(y[k] - y[0]), std::fabs(y[nearer] - y[0]));
  }
  constexpr double same = 1e-3;
  out.variation = highest - lowest;
  out.limit = y[shells];
  out.settles =
      std::fabs(y[shells] - y[shells - 1]) <= same * std::fmax(std::fabs(lowest), std::fabs(highest));
  return out;
}

}  // namespace tessera::quadrature
