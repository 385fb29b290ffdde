// SPDX-License-Identifier: Apache-2.0
#include "ops/integrate/rules/axis_parts.hpp"
#include <cmath>

namespace tessera::quadrature {

std::vector<Axis> parts_of(const Range& range, const std::vector<double>& breaks) {
  std::vector<Axis> out;
  double from = range.lower;
  for (const double x : breaks) {
    if (!(from < x && x < range.upper) || x - from <= 16 * unit * std::fabs(x)) continue;
    out.push_back(Axis::of({from, x}));
    from = x;
  }
  out.push_back(Axis::of({from, range.upper}));
  return out;
}

bool sticks_to_end(const Range& range, double x, double width) {
  constexpr double narrowest = 1e-7;
  const double length = range.finite() ? range.upper - range.lower : 1;
  if (!(width < narrowest * length)) return false;
  for (const double limit : {range.lower, range.upper})
    if (std::fabs(x - limit) <= 4 * width && (limit != 0 || !range.finite())) return true;
  return false;
}

void add_around(std::vector<Axis>& parts, const Range& range, double x, double width) {
  if (range.finite() || (std::isinf(range.lower) && std::isinf(range.upper))) {
    parts.push_back(Axis::around(range, x, width));
    return;
  }
  const bool above = std::isinf(range.upper);
  const double limit = above ? range.lower : range.upper, other = x + (x - limit);
  Axis rest = Axis::of(above ? Range{other, range.upper} : Range{range.lower, other});
  rest.width = std::fabs(x - limit);
  if (!above) parts.push_back(rest);
  parts.push_back(Axis::around(above ? Range{limit, other} : Range{other, limit}, x, width));
  if (above) parts.push_back(rest);
}

}  // namespace tessera::quadrature
