// SPDX-License-Identifier: Apache-2.0
#include "ops/integrate/rules/spread.hpp"
#include <algorithm>
#include <cmath>
#include "ops/integrate/rules/sobol.hpp"

namespace tessera::quadrature {

double spread_of(const ManyValues& f, const std::vector<Axis>& axes, const std::vector<double>& top,
                 const std::vector<double>& widths, std::int64_t& evaluations) {
  constexpr double factor = 4, much_less = 1.0 / 4, furthest = 1e30;
  constexpr std::size_t directions = 16;
  const std::size_t d = axes.size();
  double least = infinity;
  for (std::size_t k = 0; k < d; ++k)
    if (!axes[k].range.finite() && widths[k] > 0) least = std::fmin(least, widths[k]);
  if (std::isinf(least)) return 0;
  std::vector<double> x(d * directions), y(directions);
  double before = 0, most = 0, out = least;
  for (double distance = least; distance < furthest; distance *= factor) {
    double volume = 1;
    for (std::size_t i = 0; i < directions; ++i) {
      std::vector<double> towards(d);
      double longest = 0;
      for (std::size_t k = 0; k < d; ++k) {
        towards[k] = 2 * sobol(static_cast<std::uint32_t>(i), static_cast<int>(k), 57) - 1;
        if (!axes[k].range.finite() && widths[k] > 0 && widths[k] <= distance)
          longest = std::fmax(longest, std::fabs(towards[k]));
      }
      volume = 1;
      for (std::size_t k = 0; k < d; ++k) {
        const Range& range = axes[k].range;
        const bool grows = !range.finite() && widths[k] > 0 && widths[k] <= distance;
        const double step = grows ? distance / longest : widths[k];
        x[k * directions + i] = std::clamp(top[k] + step * towards[k], range.lower, range.upper);
        if (grows) volume *= distance / widths[k];
      }
    }
    f(x, directions, y);
    evaluations += static_cast<std::int64_t>(directions);
    double held = 0;
    for (const double height : y) held += std::isfinite(height) ? std::fabs(height) : 0;
    held *= volume / directions;
    if (held < much_less * before) break;
    if (held > most) out = distance;
    most = std::fmax(most, held);
    before = held;
  }
  return out;
}

}  // namespace tessera::quadrature
