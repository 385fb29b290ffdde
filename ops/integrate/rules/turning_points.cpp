// SPDX-License-Identifier: Apache-2.0
#include "ops/integrate/rules/turning_points.hpp"
#include <algorithm>
#include <set>
#include "ops/integrate/rules/linear_system.hpp"
#include "tessera/formula/interpret.hpp"

namespace tessera::quadrature {
namespace {

using formula::Node;
using formula::Op;
using Point = std::vector<double>;

class Climb {
 public:
  Climb(const formula::Tree& tree, const std::vector<std::string>& variables, const Box& box)
      : nodes_(tree.nodes()), box_(box), d_(variables.size()), values_(nodes_.size()) {
    for (const std::string& name : tree.names())
      axis_of_.push_back(
          static_cast<std::size_t>(std::find(variables.begin(), variables.end(), name) - variables.begin()));
  }

  std::vector<Point> run(const Deadline& until);

 private:
  std::vector<std::size_t> steep_parts() const;
  double height(const Point& x);
  Point best_scattered();
  bool improve(Point& x, double h);
  double length(std::size_t axis) const { return box_.axes[axis].upper - box_.axes[axis].lower; }

  const std::vector<Node>& nodes_;
  const Box& box_;
  std::size_t d_, part_ = 0;
  double sign_ = 1;  // -1: the smallest value is looked for
  std::vector<std::size_t> axis_of_;
  std::vector<double> values_;
};

// Parts of at least two variables that something other than sums and products is made of.
std::vector<std::size_t> Climb::steep_parts() const {
  std::vector<std::set<std::int32_t>> of(nodes_.size());
  std::set<std::size_t> out;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    const Node& node = nodes_[i];
    if (node.op == Op::variable) of[i].insert(node.name);
    for (int k = 0; k < 3; ++k) {
      if (node.child[k] < 0) continue;
      const auto child = static_cast<std::size_t>(node.child[k]);
      of[i].insert(of[child].begin(), of[child].end());
      // Comparisons are looked at by themselves.
      const bool compared = node.op == Op::less || node.op == Op::less_equal || node.op == Op::min ||
                            node.op == Op::max || node.op == Op::fmin || node.op == Op::fmax ||
                            node.op == Op::select;
      const bool gentle = compared || node.op == Op::add || node.op == Op::sub || node.op == Op::mul ||
                          node.op == Op::neg || (node.op == Op::div && k == 0);
      if (!gentle && of[child].size() > 1) out.insert(child);
    }
  }
  return {out.begin(), out.end()};
}

double Climb::height(const Point& x) {
  const auto of = [this](const Node& from, int k) {
    return from.child[k] < 0 ? 0 : values_[static_cast<std::size_t>(from.child[k])];
  };
  for (std::size_t i = 0; i <= part_; ++i) {
    const Node& at = nodes_[i];
    if (at.op == Op::number) values_[i] = at.value;
    else if (at.op == Op::variable) values_[i] = x[axis_of_[static_cast<std::size_t>(at.name)]];
    else values_[i] = formula::apply<double>(at.op, of(at, 0), of(at, 1), of(at, 2));
  }
  return sign_ * values_[part_];
}

Point Climb::best_scattered() {
  constexpr int count = 256;
  constexpr double golden = 0.6180339887498949;
  Point best, x(d_);
  double highest = -infinity;
  for (int i = 0; i < count; ++i) {
    for (std::size_t axis = 0; axis < d_; ++axis) {
      const double at = golden * std::sqrt(static_cast<double>(axis) + 2) * (i + 0.5);
      x[axis] = box_.axes[axis].lower + (at - std::floor(at)) * length(axis);
    }
    const double here = height(x);
    if (!(here > highest)) continue;
    highest = here;
    best = x;
  }
  return best;
}

// One step of Newton's, with differences over this share of the box; true: it is higher there.
bool Climb::improve(Point& x, double h) {
  const double here = height(x);
  Point slope(d_);
  std::vector<Point> bend(d_, Point(d_));
  const auto moved = [&](std::size_t a, double by_a, std::size_t b, double by_b) {
    Point there = x;
    there[a] += by_a * length(a);
    there[b] += by_b * length(b);
    return height(there);
  };
  for (std::size_t a = 0; a < d_; ++a) {
    const double above = moved(a, h, a, 0), below = moved(a, -h, a, 0);
    slope[a] = -(above - below) / (2 * h);
    bend[a][a] = (above - 2 * here + below) / (h * h);
    for (std::size_t b = 0; b < a; ++b)
      bend[a][b] = bend[b][a] =
          (moved(a, h, b, h) - moved(a, h, b, -h) - moved(a, -h, b, h) + moved(a, -h, b, -h)) / (4 * h * h);
  }
  if (!solve(bend, slope)) return false;
  Point there = x;
  for (std::size_t a = 0; a < d_; ++a) {
    there[a] += slope[a] * length(a);
    if (!(box_.axes[a].lower < there[a] && there[a] < box_.axes[a].upper)) return false;
  }
  if (!(height(there) > here)) return false;
  x = std::move(there);
  return true;
}

std::vector<Point> Climb::run(const Deadline& until) {
  constexpr std::size_t most_parts = 16, most_axes = 6, most_nodes = 1000;
  std::vector<Point> out;
  if (d_ < 2 || d_ > most_axes || nodes_.size() > most_nodes) return out;
  std::vector<std::size_t> parts = steep_parts();
  if (parts.size() > most_parts) parts.resize(most_parts);
  for (const std::size_t part : parts)
    for (const double sign : {-1.0, 1.0}) {
      if (until.passed()) return out;
      part_ = part;
      sign_ = sign;
      Point x = best_scattered();
      if (x.empty()) continue;
      bool found = false;
      for (const double h : {1e-2, 1e-3, 1e-4, 1e-5})
        for (int i = 0; i < 8 && improve(x, h); ++i) found = true;
      if (found && std::find(out.begin(), out.end(), x) == out.end()) out.push_back(x);
    }
  return out;
}

}  // namespace

std::vector<Point> turning_points(const formula::Tree& tree, const std::vector<std::string>& variables,
                                  const Box& box, const Deadline& until) {
  for (const Range& range : box.axes)
    if (!range.finite() || !(range.lower < range.upper)) return {};
  return Climb(tree, variables, box).run(until);
}

}  // namespace tessera::quadrature
