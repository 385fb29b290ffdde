// SPDX-License-Identifier: Apache-2.0
#include "ops/integrate/quadrature/several_variables/products.hpp"
#include <algorithm>
#include <cmath>
#include <numbers>
#include "tessera/core/text/error.hpp"
#include "ops/integrate/quadrature/one_variable/kronrod_nodes.hpp"

namespace tessera::quadrature {
namespace {

constexpr std::size_t grids = std::size_t{1} << max_product_dimensions;

struct Line {
  std::vector<double> u, weight;
  std::vector<char> odd;        // 1: a grid of twice the step lacks the point
  std::vector<char> outermost;  // 1: an end of a part, beyond which f is unknown
};

// Returns the points of one axis at this step, in each of the parts between its breaks. They end where u is
// within rounding of 1.
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

// Neumaier's compensated sum: most terms are so small that a plain sum of tens of thousands would lose them.
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
  double outermost = 0;  // sum of |terms| at the outermost points of any axis
  // Sums over the grids of twice the step: each takes the points of every axis with even numbers or, if the
  // axis' bit is set in the index, with odd ones.
  double coarse[grids] = {};

  // Returns the largest change of a coarse sum when its step is halved.
  double moved(std::size_t axes) const {
    double out = 0;
    for (std::size_t k = 0; k < std::size_t{1} << axes; ++k)
      out = std::fmax(out, std::fabs(std::ldexp(coarse[k], static_cast<int>(axes)) - value));
    return out;
  }
};

// Adds each row of the grid separately, so that the bits do not depend on the number of threads.
Sums sum(const UnitCube& cube, const std::vector<Line>& lines, int threads) {
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

TanhSinhProduct::TanhSinhProduct(UnitCube& cube, const Tolerance& tolerance, int threads)
    : cube_(cube), tolerance_(tolerance), threads_(threads) {
  if (cube.dimensions() < 2 || cube.dimensions() > max_product_dimensions)
    throw Error("tanh_sinh takes up to 3 variables");
  last_.rule = "tanh-sinh product";
}

// Returns the error estimate of the last sum. If f is analytic, each step doubles the digits. Otherwise steps
// may agree by chance, but all the grids of twice the step together seldom do.
double TanhSinhProduct::truncation_estimate() const {
  const std::size_t n = values_.size();
  if (n < 3) return infinity;
  const double moved = moved_[n - 1], before = moved_[n - 2], earlier = moved_[n - 3],
               apart = std::fabs(values_[n - 1] - values_[n - 2]), size = std::fabs(values_[n - 1]);
  const bool doubles = moved <= 10 * size * std::pow(before / size, 1.5),
             twice_less = moved <= before / 4 && before <= earlier / 4;
  if (!doubles || !(twice_less || moved <= before / 30)) {
    // Sums whose changes fall by a factor from step to step still have the changes of all further steps
    // ahead.
    constexpr double slowest = 0.98;
    const double factor = std::fmin(moved / before, slowest);
    return std::fmax(moved * factor / (1 - factor), std::fmax(1.5 * moved, before));
  }
  // Errors at kinks and jumps along oblique lines also fall slowly, and all grids may err to the same side.
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
    Sums sums;
    if (!cube_.within_caps([&] { sums = sum(cube_, lines, threads_); })) {
      last_.reason = cube_.cap();
      cube_.judge(last_);
      return last_;
    }
    pace_ = (left - cube_.seconds_left()) / points;
    values_.push_back(sums.value);
    moved_.push_back(sums.moved(lines.size()));
    last_.value = sums.value;
    last_.magnitude = sums.magnitude;
    last_.rounding = 8 * unit * sums.magnitude;
    // For a power of the distance to the end, u^-0.8 or weaker, less is left beyond the outermost points.
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
    // The sums change by rounding alone, because they cancel.
    if (last_.truncation <= noise) {
      last_.reason = Reason::roundoff;
      return last_;
    }
  }
  last_.reason = Reason::unresolved;
  return last_;
}

namespace {

using Pair = Differences<8>;
constexpr std::size_t slots = 8;  // per line: its middle and pairs of points
// A jump between a line's outermost point and the face would go undetected, so the middle line of each axis
// has one more point on each side.
constexpr double edge_offset = 1 - 0x1p-24;

// plain: a line's difference of the pair if all fall off as a smooth function's do, else the largest. sharp:
// the largest, reduced by the slowest fall of a difference below the one of lower degree. Even differences go
// by degrees 8 to 14, Kronrod's rule is good up to 23: three falls beyond the first of them are counted, of
// eight.
struct NullEstimate {
  double plain, sharp;
};

template <std::size_t count>
double slowest_fall(const double (&sums)[count], double noise) {
  double out = 0;
  for (std::size_t k = 1; k < count; ++k) {
    const double higher = std::fabs(sums[k - 1]), lower = std::fabs(sums[k]);
    if (higher > noise) out = std::fmax(out, lower > 0 ? higher / lower : 1);
  }
  return out;
}

NullEstimate estimate_of(const double (&even)[Pair::count], const double (&odd)[Pair::odd_count],
                         double noise) {
  const double plain = Pair::estimate(even, odd, noise),
               slowest = std::fmax(slowest_fall(even, noise), slowest_fall(odd, noise));
  if (!(slowest < 0.5)) return {plain, plain};
  double most = 0;
  for (const double sum : even) most = std::fmax(most, std::fabs(sum));
  for (const double sum : odd) most = std::fmax(most, std::fabs(sum));
  const double cube = slowest * slowest * slowest;
  return {plain, std::fmin(plain, 64 * cube * cube * most)};
}

double node(std::size_t i) { return i < slots ? -kronrod15.x[i] : kronrod15.x[2 * (slots - 1) - i]; }
double weight(std::size_t i) { return kronrod15.kronrod[i < slots ? i : 2 * (slots - 1) - i] / 2; }

}  // namespace

// The order of the points: the grid, the first axis fastest; then both edges of each axis.
KronrodProduct::KronrodProduct(int dimensions) : RegionPoints(dimensions) {
  if (dimensions < 2 || dimensions > max_kronrod_dimensions)
    throw Error("products of Gauss-Kronrod pairs take 2 or 3 variables: more have genz_malik");
  const auto d = static_cast<std::size_t>(dimensions);
  std::size_t grid = 1;
  for (std::size_t axis = 0; axis < d; ++axis) grid *= line_points;
  points_ = grid + 2 * d;
  offsets_.assign(points_ * d, 0);
  weights_.assign(grid, 1);
  line_weights_.assign(grid / line_points, 1);
  for (std::size_t p = 0; p < grid; ++p) {
    std::size_t rest = p;
    for (std::size_t axis = 0; axis < d; ++axis, rest /= line_points) {
      offsets_[axis * points_ + p] = node(rest % line_points);
      weights_[p] *= weight(rest % line_points);
      if (p < line_weights_.size() && axis + 1 < d) line_weights_[p] *= weight(rest % line_points);
    }
  }
  for (std::size_t axis = 0; axis < d; ++axis)
    for (std::size_t side = 0; side < 2; ++side)
      offsets_[axis * points_ + grid + 2 * axis + side] = side == 0 ? -edge_offset : edge_offset;
  for (std::size_t i = 0; i < line_points; ++i) {
    long double carried = 1;
    for (std::size_t j = 0; j < line_points; ++j)
      if (j != i)
        carried *=
            (static_cast<long double>(edge_offset) - node(j)) / (static_cast<long double>(node(i)) - node(j));
    edge_[i] = static_cast<double>(carried);
  }
}

// Adds estimates line by line, so that differences of opposite signs, as across an oblique jump, do not
// cancel.
KronrodProduct::GridDifference KronrodProduct::apart_along(const double* y, std::size_t axis) const {
  const Pair& differences = Pair::of(kronrod15);
  std::size_t stride = 1;
  for (std::size_t k = 0; k < axis; ++k) stride *= line_points;
  GridDifference out;
  for (std::size_t line = 0; line < lines(); ++line) {
    const double* const first = y + line % stride + line / stride * stride * line_points;
    double even[Pair::count] = {}, odd[Pair::odd_count] = {}, size = 0;
    for (std::size_t i = 0; i < slots; ++i) {
      const double below = first[i * stride], above = first[(line_points - 1 - i) * stride];
      for (std::size_t k = 0; k < Pair::count; ++k) even[k] += differences.weight[k][i] * (below + above);
      for (std::size_t k = 0; k < Pair::odd_count; ++k) odd[k] += differences.odd[k][i] * (above - below);
      size += weight(i) * (std::fabs(below) + std::fabs(above));
    }
    const double share = line_weights_[line] / 2;
    const NullEstimate estimate = estimate_of(even, odd, 8 * unit * size);
    out.plain += share * estimate.plain;
    out.sharp += share * estimate.sharp;
  }
  return out;
}

// Returns the difference between the values at the middle line's edges and those that its points predict.
double KronrodProduct::hidden_along(const double* y, std::size_t axis) const {
  std::size_t stride = 1, middle = 0;
  for (std::size_t k = 0, step = 1; k < static_cast<std::size_t>(dimensions_); ++k, step *= line_points) {
    if (k < axis) stride *= line_points;
    if (k != axis) middle += (slots - 1) * step;
  }
  const double* const edges = y + weights_.size() + 2 * axis;
  double lower = edges[0], upper = edges[1];
  for (std::size_t i = 0; i < line_points; ++i) {
    upper -= edge_[i] * y[middle + i * stride];
    lower -= edge_[i] * y[middle + (line_points - 1 - i) * stride];
  }
  return (1 - kronrod15.x[0]) / 2 * (std::fabs(lower) + std::fabs(upper));
}

RegionResult KronrodProduct::summarize(const double* y, Region& region) const {
  RegionResult out{};
  for (std::size_t p = 0; p < weights_.size(); ++p) {
    const double term = weights_[p] * y[p];
    out.value += term;
    out.magnitude += std::fabs(term);
  }
  double worst = -1, volume = 1;
  for (int axis = 0; axis < dimensions_; ++axis) {
    const GridDifference apart = apart_along(y, static_cast<std::size_t>(axis));
    const double hidden = hidden_along(y, static_cast<std::size_t>(axis));
    volume *= 2 * region.half[axis];
    out.error += apart.sharp + hidden;
    out.unconfirmed += apart.plain + hidden;
    // If no axis shows an error, the widest axis is split.
    const double measure = apart.sharp + hidden + 1e-14 * out.magnitude * region.half[axis];
    if (measure > worst) {
      worst = measure;
      region.axis = axis;
    }
  }
  out.value *= volume;
  out.magnitude *= volume;
  out.error *= volume;
  out.unconfirmed *= volume;
  out.weighed = out.magnitude;
  return out;
}

// An error that vanishes at once counts as unseen, unless halving hardly changed the value.
double KronrodProduct::believed(const RegionResult& half, const RegionResult& other, double moved,
                                double wholes_error) const {
  double out = std::fmax(half.error, std::fmin(half.unconfirmed, std::fmin(moved, wholes_error / 50)));
  if (moved > half.error + other.error) out = std::fmax(out, moved / 4);
  return out;
}

}  // namespace tessera::quadrature
