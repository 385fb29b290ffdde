// SPDX-License-Identifier: Apache-2.0
#include "ops/integrate/rules/ends.hpp"
#include <algorithm>

namespace tessera::quadrature {

End end_of(std::size_t axis, double x, const double (&u)[3], const double (&share)[3], double one_sign,
           double all) {
  End out{axis, x, u[2], share[2], nothing, true, one_sign > 0.5};
  if (!(share[2] > 1e-18 * all) || !(share[1] > 0) || !(share[0] > 0)) {
    out.share = share[2] > 1e-18 * all ? share[2] : 0;
    return out;
  }
  const double before = std::log(share[1] / share[0]) / std::log(u[1] / u[0]),
               last = std::log(share[2] / share[1]) / std::log(u[2] / u[1]);
  const double apart = std::fabs(last - before);
  out.steady = apart <= (last <= 0.01 ? 0.01 : 0.02 * last);
  out.slope = std::fmin(before, last);
  return out;
}

double End::beyond(double distance) const {
  if (share == 0 || std::isnan(slope)) return share;
  if (slope <= 0.005) return infinity;
  // A power, or one that weakens as the logarithm grows: 1/(u·log(u)²), say.
  const double there = steady ? slope : slope * std::fmin(1, std::log(u) / std::log(distance));
  const double factor = steady ? 1.5 : 3, mean = (slope + there) / 2;
  return factor * share * std::pow(distance / u, mean) / there;
}

double beyond(const std::vector<End>& ends, double distance) {
  double out = 0;
  for (const End& end : ends) out += end.beyond(distance);
  return out;
}

std::vector<double> place_of(const std::vector<End>& ends, double distance, std::size_t axes) {
  std::vector<double> out(axes, nothing);
  const auto most = std::max_element(ends.begin(), ends.end(), [&](const End& a, const End& b) {
    return a.beyond(distance) < b.beyond(distance);
  });
  if (most != ends.end()) out[most->axis] = most->x;
  return out;
}

}  // namespace tessera::quadrature
