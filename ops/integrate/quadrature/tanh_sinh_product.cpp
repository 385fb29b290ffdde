// SPDX-License-Identifier: Apache-2.0
#include "ops/integrate/quadrature/tanh_sinh_product.hpp"
#include <algorithm>
#include <cmath>
#include <numbers>
#include "tessera/core/error.hpp"

namespace tessera::quadrature {
namespace {

constexpr std::size_t grids = std::size_t{1} << most_product_dimensions;

struct Line {
  std::vector<double> u, weight;
  std::vector<char> odd;        // whether a grid of twice the step lacks it
  std::vector<char> outermost;  // of a part: nothing is known of what lies beyond
};

// The points of one axis at this step, in each of the parts between its breaks. u keeps no digits nearer to 1
// than rounding allows, so it ends there.
Line line(double step, const std::vector<double>& edges) {
  constexpr double reach = 3.15;
  Line out;
  const int count = static_cast<int>(reach / step);
  for (std::size_t part = 0; part + 1 < edges.size(); ++part) {
    const double share = edges[part + 1] - edges[part];
    for (int j = -count; j <= count; ++j) {
      const double t = j * step, v = std::numbers::pi / 2 * std::sinh(std::fabs(t)), e = std::exp(-2 * v);
      const double near = share * e / (1 + e);
      out.u.push_back(t < 0 ? edges[part] + near : edges[part + 1] - near);
      out.odd.push_back(j % 2 != 0);
      out.outermost.push_back(std::abs(j) == count);
      out.weight.push_back(share * step * std::numbers::pi * std::cosh(t) * e / ((1 + e) * (1 + e)));
    }
  }
  return out;
}

// By Neumaier: most terms are so small that a plain sum of tens of thousands would lose them one by one.
struct Compensated {
  double sum = 0, lost = 0;

  void add(double x) {
    const double to = sum + x;
    lost += std::fabs(sum) >= std::fabs(x) ? (sum - to) + x : (x - to) + sum;
    sum = to;
  }
  double total() const { return sum + lost; }
};

struct Sums {
  double value = 0, magnitude = 0;
  double outermost = 0;  // of |terms| at the outermost points of any axis
  // Of every second point of each axis, whose numbers are even there or, where the axis' bit is set, odd:
  // grids of twice the step, each with a place of its own.
  double coarse[grids] = {};

  // How far the sum moves that was furthest off, if its step is halved.
  double moved(std::size_t axes) const {
    double out = 0;
    for (std::size_t k = 0; k < std::size_t{1} << axes; ++k)
      out = std::fmax(out, std::fabs(std::ldexp(coarse[k], static_cast<int>(axes)) - value));
    return out;
  }
};

// Rows of the grid, each a sum of its own, so that threads change no bit.
Sums sum(const Cube& cube, const std::vector<Line>& lines, int threads) {
  const std::size_t d = lines.size(), n = lines[0].u.size();
  std::size_t rows = 1;
  for (std::size_t k = 1; k < d; ++k) rows *= lines[k].u.size();
  struct Row {
    double value = 0, odd = 0, magnitude = 0, outermost = 0;
  };
  std::vector<Row> parts(rows);
  share_parts(threads, rows, [&](std::size_t row) {
    thread_local std::vector<double> u, y;
    u.resize(d * n);
    y.resize(n);
    double weight = 1;
    bool outermost = false;
    std::size_t rest = row;
    for (std::size_t k = 1; k < d; rest /= lines[k++].u.size()) {
      const std::size_t at = rest % lines[k].u.size();
      std::fill_n(&u[k * n], n, lines[k].u[at]);
      weight *= lines[k].weight[at];
      outermost = outermost || lines[k].outermost[at] != 0;
    }
    std::copy(lines[0].u.begin(), lines[0].u.end(), u.begin());
    cube.values(u, n, y);
    Row& part = parts[row];
    Compensated value, odd;
    for (std::size_t i = 0; i < n; ++i) {
      const double term = weight * lines[0].weight[i] * y[i];
      value.add(term);
      if (lines[0].odd[i]) odd.add(term);
      part.magnitude += std::fabs(term);
      if (outermost || lines[0].outermost[i] != 0) part.outermost += std::fabs(term);
    }
    part.value = value.total();
    part.odd = odd.total();
  });
  Sums out;
  Compensated value, coarse[grids];
  for (std::size_t row = 0; row < rows; ++row) {
    const Row& part = parts[row];
    value.add(part.value);
    out.magnitude += part.magnitude;
    out.outermost += part.outermost;
    std::size_t rest = row, grid = 0;
    for (std::size_t axis = 1; axis < d; rest /= lines[axis++].u.size())
      if (lines[axis].odd[rest % lines[axis].u.size()]) grid |= std::size_t{1} << axis;
    coarse[grid].add(part.value - part.odd);
    coarse[grid | 1].add(part.odd);
  }
  out.value = value.total();
  for (std::size_t k = 0; k < grids; ++k) out.coarse[k] = coarse[k].total();
  return out;
}

}  // namespace

TanhSinhProduct::TanhSinhProduct(Cube& cube, const Tolerance& tolerance, int threads)
    : cube_(cube), tolerance_(tolerance), threads_(threads) {
  if (cube.dimensions() < 2 || cube.dimensions() > most_product_dimensions)
    throw Error("tanh_sinh takes up to 3 variables");
  last_.rule = "tanh-sinh product";
}

// How far the last sum is off. Where f is analytic each step doubles the digits. Elsewhere steps may agree by
// chance, but all the grids of twice the step together seldom do.
double TanhSinhProduct::truncation_estimate() const {
  const std::size_t n = values_.size();
  if (n < 3) return infinity;
  const double moved = moved_[n - 1], before = moved_[n - 2], earlier = moved_[n - 3],
               apart = std::fabs(values_[n - 1] - values_[n - 2]), size = std::fabs(values_[n - 1]);
  const bool doubles = moved <= 10 * size * std::pow(before / size, 1.5),
             twice_less = moved <= before / 4 && before <= earlier / 4;
  if (!doubles || !(twice_less || moved <= before / 30)) {
    // Sums that move by a factor less from step to step still have all further steps before them.
    constexpr double slowest = 0.98;
    const double factor = std::fmin(moved / before, slowest);
    return std::fmax(moved * factor / (1 - factor), std::fmax(1.5 * moved, before));
  }
  // So slowly do kinks and jumps along oblique lines fall, too; all grids may be off to the same side.
  if (moved > before / 64) return 3 * std::fmax(std::fmax(apart, moved), before / 8);
  return std::fmax(apart, moved * std::fmin(1, 8 * moved / before));
}

Answer TanhSinhProduct::advance(std::int64_t evaluations) {
  constexpr double finest = 0.25 / 32;
  const std::int64_t until = cube_.evaluations() + evaluations;
  for (; step_ >= finest; step_ /= 2) {
    std::vector<Line> lines;
    double points = 1;
    for (std::size_t axis = 0; axis < cube_.axes().size(); ++axis) {
      lines.push_back(line(step_, cube_.edges(axis)));
      points *= static_cast<double>(lines.back().u.size());
    }
    const double left = cube_.seconds_left();
    const bool in_time = left > 0 && pace_ * points <= left;
    if (!in_time || points > static_cast<double>(until - cube_.evaluations())) {
      last_.reason = in_time ? Reason::evaluations : Reason::time;
      return last_;
    }
    const Sums sums = sum(cube_, lines, threads_);
    cube_.count(static_cast<std::int64_t>(points));
    pace_ = (left - cube_.seconds_left()) / points;
    values_.push_back(sums.value);
    moved_.push_back(sums.moved(lines.size()));
    last_.value = sums.value;
    last_.magnitude = sums.magnitude;
    last_.rounding = 8 * unit * sums.magnitude;
    // Beyond the outermost points a power of the distance to the end, u^-0.8 or a weaker one, leaves less.
    constexpr double beyond = 0.5;
    last_.truncation = truncation_estimate() + beyond * sums.outermost / step_;
    last_.evaluations = cube_.evaluations();
    if (cube_.undefined()) {
      cube_.judge(last_);
      return last_;
    }
    const double allowed = tolerance_.of(last_.value), noise = 64 * unit * last_.magnitude;
    if (last_.error() <= allowed) {
      last_.reason = Reason::converged;
      return last_;
    }
    // Nothing but rounding moves the sums, which cancel to less than that.
    if (last_.truncation <= noise) {
      last_.reason = Reason::roundoff;
      return last_;
    }
  }
  last_.reason = Reason::unresolved;
  return last_;
}

Answer tanh_sinh_product(Cube& cube, const Tolerance& tolerance, int threads) {
  return TanhSinhProduct(cube, tolerance, threads).advance(cube.evaluations_left());
}

}  // namespace tessera::quadrature
