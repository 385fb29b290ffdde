// SPDX-License-Identifier: Apache-2.0
#include "ops/integrate/rules/variable.hpp"
#include <algorithm>
#include <atomic>
#include <mutex>
#include <numbers>

namespace tessera::quadrature {
namespace {

constexpr double pi = std::numbers::pi;

struct Node {
  double distance, weight;
};

double reach_of(Shape shape) { return shape == Shape::between ? 6.0 : 6.5; }

Node node(Shape shape, int side, double t) {
  const double u = pi / 2 * std::sinh(t), du = pi / 2 * std::cosh(t);
  switch (shape) {
    case Shape::between: {
      const double e = std::exp(-2 * u);
      return {e / (1 + e), 2 * du * e / ((1 + e) * (1 + e))};
    }
    case Shape::everywhere:
      return {std::sinh(u), du * std::cosh(u)};
    case Shape::above: {
      const double e = std::exp(side == 0 ? -u : u);
      return {e, du * e};
    }
    case Shape::below: {
      const double e = std::exp(side == 0 ? u : -u);
      return {e, du * e};
    }
  }
  return {};
}

Ladder make(Shape shape, int side) {
  Ladder out(deepest_level + 1);
  const double reach = reach_of(shape);
  for (int level = 0; level <= deepest_level; ++level) {
    const double step = level == 0 ? first_step : std::ldexp(2 * first_step, -level);
    const double first = level == 0 ? first_step : step / 2;
    for (int j = 0; first + j * step <= reach; ++j) {
      const Node n = node(shape, side, first + j * step);
      out[static_cast<std::size_t>(level)].distance.push_back(n.distance);
      out[static_cast<std::size_t>(level)].weight.push_back(n.weight);
    }
  }
  return out;
}

}  // namespace

std::vector<Piece> cut(const Range& range, std::span<const double> points) {
  std::vector<double> inside;
  for (const double x : points)
    if (range.lower < x && x < range.upper) inside.push_back(x);
  if (range.finite() && !std::isfinite(range.upper - range.lower))
    inside.push_back(0);  // longer than numbers go
  std::sort(inside.begin(), inside.end());
  inside.erase(std::unique(inside.begin(), inside.end()), inside.end());
  std::vector<Piece> out;
  double from = range.lower;
  for (const double x : inside) {
    out.push_back({from, x});
    from = x;
  }
  out.push_back({from, range.upper});
  return out;
}

std::vector<double> scale_cuts(const Range& range, std::span<const double> points) {
  constexpr double resolved = 1e16, too_long = 1e18;
  std::vector<double> out;
  if (!range.finite() || !(range.upper - range.lower > 0)) return out;
  std::vector<double> edges{range.lower, range.upper};
  for (const double x : points)
    if (range.lower < x && x < range.upper) edges.push_back(x);
  if (range.lower < 0 && range.upper > 0 && range.upper - range.lower > too_long) edges.push_back(0);
  std::sort(edges.begin(), edges.end());
  edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
  for (std::size_t i = 0; i + 1 < edges.size(); ++i) {
    const double length = edges[i + 1] - edges[i];
    for (const double side : {1.0, -1.0}) {
      const double end = side > 0 ? edges[i] : edges[i + 1], scale = end == 0 ? 1 : std::fabs(end);
      if (!(length > too_long * scale)) continue;
      for (double away = scale; away < length / 2; away *= resolved) out.push_back(end + side * away);
    }
    if (std::find(points.begin(), points.end(), edges[i]) == points.end() && edges[i] == 0 && i > 0)
      out.push_back(0);
  }
  return out;
}

const Ladder& ladder(Shape shape, int side) {
  struct Kept {
    std::atomic<bool> made = false;
    Ladder ladder;
  };
  static std::array<std::array<Kept, 2>, 4> all;
  static std::mutex making;
  Kept& kept = all[static_cast<std::size_t>(shape)][static_cast<std::size_t>(side)];
  if (kept.made.load(std::memory_order_acquire)) return kept.ladder;
  const std::lock_guard lock(making);
  if (!kept.made.load(std::memory_order_relaxed)) {
    kept.ladder = make(shape, side);
    kept.made.store(true, std::memory_order_release);
  }
  return kept.ladder;
}

double middle_distance(Shape shape) {
  return shape == Shape::between ? 0.5 : shape == Shape::everywhere ? 0 : 1;
}
double middle_weight(Shape shape) { return shape == Shape::between ? pi / 4 : pi / 2; }

Variable::Variable(const Piece& piece, const Range& range)
    : piece_(piece),
      range_(range),
      shape_(piece.shape()),
      length_(shape_ == Shape::between ? piece.upper - piece.lower : 1),
      reach_(reach_of(shape_)),
      lower_is_end_(piece.lower == range.lower),
      upper_is_end_(piece.upper == range.upper) {}

double Variable::blind(int side) const {
  const double end = side == 0 ? piece_.lower : piece_.upper;
  return std::isinf(end) ? 0 : 2 * range_.rounding * std::fabs(end);
}

double Variable::reach(int side) const {
  constexpr double last_single = 4.72;  // exp(pi/2 sinh t) is the largest number of f32 a little further out
  const bool infinite = std::isinf(side == 0 ? piece_.lower : piece_.upper);
  return infinite && range_.single() ? std::fmin(reach_, last_single) : reach_;
}

void Variable::stay_inside(int side) {
  inside_[side] = true;
  nearest_[side] =
      side == 0 ? std::nextafter(piece_.lower, infinity) : std::nextafter(piece_.upper, -infinity);
}

void Variable::place(int side, std::span<double> distance, std::span<double> x) const {
  const bool from_lower = shape_ == Shape::above || (shape_ == Shape::between && side == 0);
  const bool from_upper = shape_ == Shape::below || (shape_ == Shape::between && side == 1);
  const std::size_t count = x.size();
  if (from_lower) {
    for (std::size_t i = 0; i < count; ++i) x[i] = piece_.lower + (distance[i] *= length_);
    if (inside_[0])
      for (double& at : x) at = std::fmax(at, nearest_[0]);
    if (lower_is_end_) return;
  } else if (from_upper) {
    for (std::size_t i = 0; i < count; ++i) x[i] = piece_.upper + (distance[i] *= -length_);
    if (inside_[1])
      for (double& at : x) at = std::fmin(at, nearest_[1]);
    if (upper_is_end_) return;
  } else {
    for (std::size_t i = 0; i < count; ++i) x[i] = side == 0 ? -distance[i] : distance[i];
  }
  for (std::size_t i = 0; i < count; ++i) distance[i] = range_.distance(x[i]);
}

void Variable::map(std::span<const double> t, std::span<double> x, std::span<double> distance,
                   std::span<double> weight) const {
  for (std::size_t i = 0; i < t.size(); ++i) {
    const int side = t[i] < 0 ? 0 : 1;
    const Node n = node(shape_, side, std::fabs(t[i]));
    distance[i] = n.distance;
    weight[i] = n.weight * length_;
    place(side, distance.subspan(i, 1), x.subspan(i, 1));
  }
}

double Variable::x(double t) const {
  const int side = t < 0 ? 0 : 1;
  double distance = node(shape_, side, std::fabs(t)).distance, out = 0;
  place(side, {&distance, 1}, {&out, 1});
  return out;
}

}  // namespace tessera::quadrature
