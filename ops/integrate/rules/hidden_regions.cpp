// SPDX-License-Identifier: Apache-2.0
#include "ops/integrate/rules/hidden_regions.hpp"
#include <algorithm>
#include <cmath>
#include "ops/integrate/rules/crossings.hpp"
#include "ops/integrate/rules/formula_integrand.hpp"
#include "ops/integrate/rules/standing.hpp"
#include "ops/integrate/rules/turning_points.hpp"
#include "tessera/formula/interpret.hpp"
#include "tessera/formula/tree.hpp"

namespace tessera::quadrature {
namespace {

using formula::Node;
using formula::Op;
using Point = std::vector<double>;  // on the cube

class Search {
 public:
  Search(const formula::Tree& tree, const std::vector<std::string>& variables, const Box& box);

  std::vector<HiddenRegion> run(const Deadline& until);

 private:
  double difference(const Node& node, const Point& point) const;
  bool look_everywhere(const Node& node, Point& nearest) const;
  bool descend(const Node& node, Point& nearest) const;
  HiddenRegion region(const Node& node, Point inside) const;
  double other_side(const Node& node, const Point& inside, std::size_t axis, double step) const;

  const std::vector<Node>& nodes_;
  std::vector<std::size_t> axis_of_;  // of each name
  std::vector<Axis> axes_;
  std::size_t d_;
  mutable std::vector<double> values_;
  mutable bool below_ = false;  // the sign that the difference has at all scattered points
};

bool compares(Op op) {
  return op == Op::less || op == Op::less_equal || op == Op::min || op == Op::max || op == Op::fmin ||
         op == Op::fmax;
}

Search::Search(const formula::Tree& tree, const std::vector<std::string>& variables, const Box& box)
    : nodes_(tree.nodes()), d_(variables.size()), values_(tree.nodes().size()) {
  for (const Range& range : box.axes)
    axes_.push_back(Axis::of({std::fmin(range.lower, range.upper), std::fmax(range.lower, range.upper)}));
  for (const std::string& name : tree.names())
    axis_of_.push_back(
        static_cast<std::size_t>(std::find(variables.begin(), variables.end(), name) - variables.begin()));
}

double Search::difference(const Node& node, const Point& point) const {
  Point x(d_);
  for (std::size_t axis = 0; axis < d_; ++axis) {
    double slope = 0;
    axes_[axis].map(point[axis], x[axis], slope);
  }
  const auto of = [this](const Node& from, int k) {
    return from.child[k] < 0 ? 0 : values_[static_cast<std::size_t>(from.child[k])];
  };
  const auto last = static_cast<std::size_t>(std::max(node.child[0], node.child[1]));
  for (std::size_t i = 0; i <= last; ++i) {
    const Node& at = nodes_[i];
    if (at.op == Op::number) values_[i] = at.value;
    else if (at.op == Op::variable) values_[i] = x[axis_of_[static_cast<std::size_t>(at.name)]];
    else values_[i] = formula::apply<double>(at.op, of(at, 0), of(at, 1), of(at, 2));
  }
  return of(node, 0) - of(node, 1);
}

// Scattered points and corners; true: `nearest` is on the side where no scattered point is, or the nearest to
// it that was seen.
bool Search::look_everywhere(const Node& node, Point& nearest) const {
  constexpr int scattered = 512;
  constexpr std::size_t most_corners = 8;
  constexpr double golden = 0.6180339887498949, end = 1e-12;
  double closest = infinity;
  const auto try_at = [&](const Point& point, double value) {
    const double away = below_ ? -value : value;
    if (away < closest) {
      closest = away;
      nearest = point;
    }
  };
  for (int i = 0; i < scattered; ++i) {
    Point point(d_);
    for (std::size_t axis = 0; axis < d_; ++axis) {
      const double at = golden * std::sqrt(static_cast<double>(axis) + 2) * (i + 0.5);
      point[axis] = at - std::floor(at);
    }
    const double value = difference(node, point);
    if (!std::isfinite(value)) return false;
    if (i == 0) below_ = value < 0;
    if ((value < 0) != below_) return false;  // seen
    try_at(point, value);
  }
  for (std::size_t corner = 0; corner < std::size_t{1} << std::min(d_, most_corners); ++corner) {
    Point point(d_);
    for (std::size_t axis = 0; axis < d_; ++axis)
      point[axis] = axis >= most_corners ? 0.5 : (corner >> axis & 1) != 0 ? 1 - end : end;
    const double value = difference(node, point);
    if (std::isfinite(value)) try_at(point, value);
  }
  return true;
}

// Along one axis after another, by steps that shrink, until the sign is the other one.
bool Search::descend(const Node& node, Point& nearest) const {
  constexpr double end = 1e-12;
  const auto away = [&](const Point& point) {
    const double value = difference(node, point);
    return below_ ? -value : value;
  };
  double least = away(nearest);
  const auto found = [&] { return (difference(node, nearest) < 0) != below_; };
  for (double step = 0.25; step > 1e-10 && !found(); step /= 2)
    for (bool moved = true; moved && !found();) {
      moved = false;
      for (std::size_t axis = 0; axis < d_; ++axis)
        for (const double side : {-step, step}) {
          Point there = nearest;
          there[axis] = std::clamp(there[axis] + side, end, 1 - end);
          const double value = away(there);
          if (!(value < least)) continue;
          least = value;
          nearest = std::move(there);
          moved = true;
        }
    }
  return found();
}

// How far it is to the other side along an axis.
double Search::other_side(const Node& node, const Point& inside, std::size_t axis, double limit) const {
  double from = inside[axis], to = limit;
  Point point = inside;
  const auto is_out = [&](double u) {
    point[axis] = u;
    return (difference(node, point) < 0) == below_;
  };
  if (!is_out(to)) return limit;
  for (int i = 0; i < 60; ++i) (is_out(from + (to - from) / 2) ? to : from) = from + (to - from) / 2;
  return from;
}

// From the middle of its width along each axis, which a corner is not.
HiddenRegion Search::region(const Node& node, Point inside) const {
  HiddenRegion out;
  out.share = 1;
  std::vector<double> from(d_), to(d_);
  for (std::size_t axis = 0; axis < d_; ++axis) {
    from[axis] = other_side(node, inside, axis, 0x1p-52);
    to[axis] = other_side(node, inside, axis, 1 - 0x1p-52);
    out.share *= to[axis] - from[axis];
  }
  for (double part = 0.5 / static_cast<double>(d_); part > 1e-3; part /= 2) {
    Point point = inside;
    for (std::size_t axis = 0; axis < d_; ++axis)
      point[axis] += part * ((from[axis] + to[axis]) / 2 - inside[axis]);
    if ((difference(node, point) < 0) == below_) continue;
    inside = point;
    break;
  }
  for (std::size_t axis = 0; axis < d_; ++axis) {
    double x = 0, slope = 0;
    axes_[axis].map(inside[axis], x, slope);
    out.inside.push_back(x);
    // The end of the nearer side, and as far again.
    const double width = to[axis] - from[axis];
    const double beyond = from[axis] > 1e-6 ? from[axis] - width : to[axis] + width;
    axes_[axis].map(axis == 0 ? std::clamp(beyond, 1e-12, 1 - 1e-12) : inside[axis], x, slope);
    out.outside.push_back(x);
    double ends[2];
    axes_[axis].map(from[axis], ends[0], slope);
    axes_[axis].map(to[axis], ends[1], slope);
    out.reach.push_back(std::fmax(out.inside[axis] - ends[0], ends[1] - out.inside[axis]));
  }
  return out;
}

std::vector<HiddenRegion> Search::run(const Deadline& until) {
  constexpr std::size_t most = 8, most_work = 1'000'000;
  std::vector<HiddenRegion> out;
  if (512 * nodes_.size() > most_work) return out;
  for (const Node& node : nodes_) {
    if (!compares(node.op) || out.size() == most || until.passed()) continue;
    Point nearest;
    if (!look_everywhere(node, nearest) || nearest.empty() || !descend(node, nearest)) continue;
    HiddenRegion found = region(node, nearest);
    const bool known = std::any_of(out.begin(), out.end(),
                                   [&](const HiddenRegion& other) { return other.inside == found.inside; });
    if (!known) out.push_back(std::move(found));
  }
  return out;
}

// Where a part of several variables turns and the formula stands out.
std::vector<HiddenRegion> needles(const formula::Tree& tree, const std::vector<std::string>& variables,
                                  const Box& box, const Deadline& until) {
  const std::vector<Point> places = turning_points(tree, variables, box, until);
  if (places.empty()) return {};
  std::int64_t evaluations = 0;
  std::vector<HiddenRegion> out;
  for (const Standing& peak : standing_peaks(many_values_of(tree, variables), box, places, evaluations))
    out.push_back(region_of(peak, box));
  return out;
}

}  // namespace

std::vector<HiddenRegion> hidden_regions(const formula::Tree& tree, const std::vector<std::string>& variables,
                                         const Box& box, const Deadline& until) {
  for (const Range& range : box.axes)
    if (std::isnan(range.lower) || std::isnan(range.upper) || range.lower == range.upper) return {};
  for (const std::string& name : tree.names())
    if (std::find(variables.begin(), variables.end(), name) == variables.end()) return {};
  std::vector<HiddenRegion> out = Search(tree, variables, box).run(until);
  for (const auto& list : {needles(tree, variables, box, until), crossings(tree, variables, box, until)})
    for (const HiddenRegion& region : list) {
      const bool known = std::any_of(out.begin(), out.end(), [&](const HiddenRegion& other) {
        return other.holds(region.inside.data()) && region.holds(other.inside.data());
      });
      if (!known) out.push_back(region);
    }
  return out;
}

}  // namespace tessera::quadrature
