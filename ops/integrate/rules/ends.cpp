// SPDX-License-Identifier: Apache-2.0
#include "ops/integrate/rules/ends.hpp"
#include <algorithm>
#include "ops/integrate/rules/fading.hpp"

namespace tessera::quadrature {

End end_of(std::size_t axis, double x, const double (&u)[3], const double (&share)[3], double one_sign,
           double all) {
  End out{axis, x, u[2], share[2], nothing, nothing, true, one_sign > 0.5};
  if (!(share[2] > 1e-18 * all) || !(share[1] > 0) || !(share[0] > 0)) {
    out.share = share[2] > 1e-18 * all ? share[2] : 0;
    return out;
  }
  const double before = std::log(share[1] / share[0]) / std::log(u[1] / u[0]),
               last = std::log(share[2] / share[1]) / std::log(u[2] / u[1]);
  const double apart = std::fabs(last - before);
  out.steady = apart <= (last <= 0.01 ? 0.01 : 0.02 * last);
  out.slope = std::fmin(before, last);
  // One that weakens may leave more than any power.
  if (!out.steady) out.lasting = lasting_slope(before, last, std::log(u[0] / u[2]) / 2);
  return out;
}

double End::beyond(double distance) const {
  if (share == 0 || std::isnan(slope)) return share;
  if (slope <= 0.005 || lasting <= 0) return infinity;
  // A power, or one that weakens as the logarithm grows: 1/(u·log(u)²), say.
  const double weakened = steady ? 1 : std::fmin(1, std::log(u) / std::log(distance)),
               there = slope * weakened;
  const double factor = steady ? 1.5 : 3, mean = (slope + there) / 2;
  const double left = std::isnan(lasting) ? there : std::fmin(there, lasting * weakened);
  return factor * share * std::pow(distance / u, mean) / left;
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
