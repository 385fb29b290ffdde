// SPDX-License-Identifier: Apache-2.0
#include "ops/integrate/rules/product.hpp"
#include <algorithm>
#include <numbers>
#include <thread>
#include "tessera/core/error.hpp"
#include "tessera/core/parallel.hpp"

namespace tessera::quadrature {
namespace {

struct Line {
  std::vector<double> u, weight;
};

// The points of one axis at this step, in each of its parts. u keeps no digits nearer to 1 than rounding
// allows, so it ends there.
Line line(double step, std::size_t parts) {
  constexpr double reach = 3.15;
  Line out;
  const int count = static_cast<int>(reach / step);
  const double share = 1 / static_cast<double>(parts);
  for (std::size_t part = 0; part < parts; ++part)
    for (int j = -count; j <= count; ++j) {
      const double t = j * step, v = std::numbers::pi / 2 * std::sinh(std::fabs(t)), e = std::exp(-2 * v);
      const double near = e / (1 + e), before = static_cast<double>(part);
      out.u.push_back(share * (before + (t < 0 ? near : 1 - near)));
      out.weight.push_back(share * step * std::numbers::pi * std::cosh(t) * e / ((1 + e) * (1 + e)));
    }
  return out;
}

struct Sums {
  double value = 0, magnitude = 0;
};

// Rows of the grid, each a sum of its own, so that threads change no bit.
Sums sum(Cube& cube, const std::vector<Line>& lines, int threads) {
  const std::size_t d = lines.size(), n = lines[0].u.size();
  std::size_t rows = 1;
  for (std::size_t k = 1; k < d; ++k) rows *= lines[k].u.size();
  std::vector<Sums> parts(rows);
  std::atomic<std::size_t> next{0};
  parallel(static_cast<int>(std::min<std::size_t>(static_cast<std::size_t>(threads), rows)), [&](int) {
    std::vector<double> u(d * n), y(n);
    for (std::size_t row = next++; row < rows; row = next++) {
      double weight = 1;
      std::size_t rest = row;
      for (std::size_t k = 1; k < d; rest /= lines[k++].u.size()) {
        const std::size_t at = rest % lines[k].u.size();
        std::fill_n(&u[k * n], n, lines[k].u[at]);
        weight *= lines[k].weight[at];
      }
      std::copy(lines[0].u.begin(), lines[0].u.end(), u.begin());
      cube.values(u, n, y);
      for (std::size_t i = 0; i < n; ++i) {
        parts[row].value += weight * lines[0].weight[i] * y[i];
        parts[row].magnitude += std::fabs(weight * lines[0].weight[i] * y[i]);
      }
    }
  });
  Sums out;
  for (const Sums& part : parts) {
    out.value += part.value;
    out.magnitude += part.magnitude;
  }
  cube.count(static_cast<std::int64_t>(rows * n));
  return out;
}

}  // namespace

Answer product_rule(Cube& cube, const Tolerance& tolerance, int threads) {
  const int d = cube.dimensions();
  if (d < 2 || d > most_product_dimensions) throw Error("the product rule takes 2 or 3 variables");
  if (threads <= 0) threads = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  Answer out;
  out.rule = "tanh-sinh product";
  double before = nothing, earlier = nothing;
  for (double step = 0.25; step > 0.25 / 64; step /= 2) {
    std::vector<Line> lines;
    double points = 1;
    for (const Axis& axis : cube.axes()) {
      lines.push_back(line(step, axis.count()));
      points *= static_cast<double>(lines.back().u.size());
    }
    if (!cube.allows(static_cast<std::int64_t>(std::fmin(points, 1e18)))) {
      out.reason = cube.cap();
      return out;
    }
    const Sums sums = sum(cube, lines, threads);
    if (cube.undefined()) {
      out.evaluations = cube.evaluations();
      cube.judge(out);
      return out;
    }
    out.value = sums.value;
    out.magnitude = sums.magnitude;
    out.rounding = 8 * unit * sums.magnitude;
    out.truncation = std::isnan(before) ? infinity : std::fabs(sums.value - before);
    out.evaluations = cube.evaluations();
    const bool twice =
        !std::isnan(earlier) &&
        std::fabs(before - earlier) <= 1e3 * std::sqrt(tolerance.of(out.value) * std::fabs(out.value));
    if (twice && out.error() <= tolerance.of(out.value)) {
      out.reason = Reason::converged;
      return out;
    }
    earlier = before;
    before = sums.value;
  }
  out.reason = Reason::unresolved;
  return out;
}

}  // namespace tessera::quadrature
