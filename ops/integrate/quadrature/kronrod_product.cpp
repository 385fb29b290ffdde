// SPDX-License-Identifier: Apache-2.0
#include "ops/integrate/quadrature/kronrod_product.hpp"
#include <algorithm>
#include "ops/integrate/quadrature/kronrod_nodes.hpp"
#include "ops/integrate/quadrature/null_rules.hpp"
#include "tessera/core/error.hpp"

namespace tessera::quadrature {
namespace {

using Pair = Differences<8>;
constexpr std::size_t slots = 8;  // of a line: its middle and pairs of points
// Between a line's outermost point and the face a jump would hide: one point more on each side of the middle
// line of each axis sees it.
constexpr double edge_offset = 1 - 0x1p-24;

// Of a line: the pair's own difference where all fall off as a smooth function's do, else the largest; and
// what is left of it, by how much each falls below the one of lower degree. Even differences go by degrees 8
// to 14, Kronrod's rule is good up to 23: three falls beyond the first of them are counted, of eight.
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

// Order: the grid, the first axis fastest; then both edges of each axis.
KronrodProduct::KronrodProduct(int dimensions) : dimensions_(dimensions) {
  if (dimensions < 2 || dimensions > most_kronrod_dimensions)
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

void KronrodProduct::place(double centre, double half, int axis, double* u) const {
  const double* const offsets = &offsets_[static_cast<std::size_t>(axis) * points_];
  for (std::size_t p = 0; p < points_; ++p) u[p] = centre + half * offsets[p];
}

// Line by line: differences of opposite signs, as lines across a slanting jump have, do not cancel.
KronrodProduct::Apart KronrodProduct::apart_along(const double* y, std::size_t axis) const {
  const Pair& differences = Pair::of(kronrod15);
  std::size_t stride = 1;
  for (std::size_t k = 0; k < axis; ++k) stride *= line_points;
  Apart out;
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

// What the edges of the middle line are off where its points lead.
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
    const Apart apart = apart_along(y, static_cast<std::size_t>(axis));
    const double hidden = hidden_along(y, static_cast<std::size_t>(axis));
    volume *= 2 * region.half[axis];
    out.error += apart.sharp + hidden;
    out.unconfirmed += apart.plain + hidden;
    // Where no axis shows anything, the widest is split.
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

// An error that is gone at once is only out of sight, unless halving hardly moved the value: then there was
// none.
double KronrodProduct::believed(const RegionResult& half, const RegionResult& other, double moved,
                                double wholes_error) const {
  double out = std::fmax(half.error, std::fmin(half.unconfirmed, std::fmin(moved, wholes_error / 50)));
  if (moved > half.error + other.error) out = std::fmax(out, moved / 4);
  return out;
}

Answer gauss_kronrod_product(Cube& cube, const Tolerance& tolerance, int threads) {
  return AdaptiveCubature<KronrodProduct>(cube, tolerance, threads).advance(cube.evaluations_left());
}

}  // namespace tessera::quadrature
