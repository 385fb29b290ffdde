// SPDX-License-Identifier: Apache-2.0
#include "ops/integrate/rules/crossings.hpp"
#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <optional>
#include "ops/integrate/rules/formula_integrand.hpp"
#include "ops/integrate/rules/linear_system.hpp"
#include "ops/integrate/rules/standing.hpp"
#include "tessera/formula/interpret.hpp"

namespace tessera::quadrature {
namespace {

using formula::Node;
using formula::Op;
using Point = std::vector<double>;

constexpr std::size_t most_axes = 6, most_nodes = 1000, most_parts = 48, most_sets = 1500;

bool compares(Op op) {
  return op == Op::less || op == Op::less_equal || op == Op::min || op == Op::max || op == Op::fmin ||
         op == Op::fmax;
}

bool adds(Op op) { return op == Op::add || op == Op::sub || op == Op::neg; }

// A child, or the difference of two: where it is 0 something may stand.
struct Part {
  std::size_t first;
  std::optional<std::size_t> second;
};

class Crossings {
 public:
  Crossings(const formula::Tree& tree, const std::vector<std::string>& variables, const Box& box,
            const Deadline& until);

  std::vector<HiddenRegion> run();

 private:
  void classify();
  bool sharpens(const Node& node, int k) const;
  bool varies(std::int32_t i) const { return i >= 0 && varies_[static_cast<std::size_t>(i)]; }
  std::size_t without_factor(std::size_t i) const;
  void find_parts();
  void add(Part part);
  void compute(const Point& x);
  double value(const Part& part) const;
  double at(const Part& part, const Point& x);
  Point scattered(int i) const;
  bool slopes(const Point& x, std::vector<Point>& out);
  std::optional<Point> common_zero(const Point& start, int& steps);
  void look_at_set();
  void choose(std::size_t from, std::size_t size);
  struct Found {
    double mass;
    HiddenRegion region;
  };
  std::vector<Point> directions(const std::vector<Point>& slope) const;
  std::optional<Found> standing(Point x);
  double ridge_reach(const std::vector<Point>& slope, std::size_t axis);
  double length(std::size_t axis) const { return box_.axes[axis].upper - box_.axes[axis].lower; }

  const std::vector<Node>& nodes_;
  const Box& box_;
  const Deadline& until_;
  ManyValues f_;
  std::size_t d_, sets_ = 0;
  std::vector<std::size_t> axis_of_;  // of each name
  std::vector<bool> varies_, steep_;  // steep_: something steep is made of it
  std::vector<double> values_;
  std::vector<Part> parts_;
  std::vector<std::array<double, 3>> known_;  // of each part, at scattered points
  std::vector<std::size_t> set_;              // of parts
  std::vector<Found> found_;
};

Crossings::Crossings(const formula::Tree& tree, const std::vector<std::string>& variables, const Box& box,
                     const Deadline& until)
    : nodes_(tree.nodes()),
      box_(box),
      until_(until),
      f_(many_values_of(tree, variables)),
      d_(variables.size()),
      values_(tree.nodes().size()) {
  for (const std::string& name : tree.names())
    axis_of_.push_back(
        static_cast<std::size_t>(std::find(variables.begin(), variables.end(), name) - variables.begin()));
  classify();
  find_parts();
}

bool Crossings::sharpens(const Node& node, int k) const {
  constexpr double mild = 16;
  if (adds(node.op) || node.op == Op::mul) return false;
  if (node.op == Op::div) return k == 1;
  if (node.op != Op::pow) return true;
  const Node& power = nodes_[static_cast<std::size_t>(node.child[1])];
  const bool whole = power.op == Op::number && power.value == std::trunc(power.value);
  return k == 1 || !(whole && 0 <= power.value && power.value <= mild);
}

void Crossings::classify() {
  for (const Node& node : nodes_)
    varies_.push_back(node.op == Op::variable || varies(node.child[0]) || varies(node.child[1]) ||
                      varies(node.child[2]));
  steep_.assign(nodes_.size(), false);
  for (std::size_t i = nodes_.size(); i-- > 0;)
    for (int k = 0; k < 3; ++k)
      if (const auto child = nodes_[i].child[k]; child >= 0)
        steep_[static_cast<std::size_t>(child)] =
            steep_[static_cast<std::size_t>(child)] || steep_[i] || sharpens(nodes_[i], k);
}

// What a constant is multiplied with is 0 where the product is.
std::size_t Crossings::without_factor(std::size_t i) const {
  while (true) {
    const Node& node = nodes_[i];
    const bool first = varies(node.child[0]), second = varies(node.child[1]);
    if (node.op == Op::neg || (node.op == Op::div && first && !second) ||
        (node.op == Op::mul && first && !second))
      i = static_cast<std::size_t>(node.child[0]);
    else if (node.op == Op::mul && second && !first) i = static_cast<std::size_t>(node.child[1]);
    else return i;
  }
}

void Crossings::find_parts() {
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    const Node& node = nodes_[i];
    if (!varies_[i] || adds(node.op)) continue;
    if (compares(node.op)) {
      add({static_cast<std::size_t>(node.child[0]), static_cast<std::size_t>(node.child[1])});
      continue;
    }
    const bool product = node.op == Op::mul && !(varies(node.child[0]) && varies(node.child[1]));
    if (product || node.op == Op::select || node.op == Op::logic_and || node.op == Op::logic_or) continue;
    for (int k = 0; k < 2; ++k)
      if (varies(node.child[k]) && (steep_[i] || sharpens(node, k)))
        add({without_factor(static_cast<std::size_t>(node.child[k])), std::nullopt});
  }
}

// What is a multiple of a known one is 0 at the same places; powers, roots and products are where what they
// are made of is.
void Crossings::add(Part part) {
  const Op op = nodes_[part.first].op;
  if (!part.second && (op == Op::pow || op == Op::abs || op == Op::sqrt || op == Op::mul || op == Op::exp))
    return;
  if (parts_.size() == most_parts) return;
  std::array<double, 3> seen{};
  for (int i = 0; i < 3; ++i) seen[static_cast<std::size_t>(i)] = at(part, scattered(i));
  for (const std::array<double, 3>& other : known_) {
    bool same = true;
    for (std::size_t i = 1; i < 3; ++i) {
      const double product = seen[i] * other[0];  // infinite, where a cosh is, it is within all of itself
      same = same && std::isfinite(product) &&
             std::fabs(product - other[i] * seen[0]) <= 1e-13 * std::fabs(product);
    }
    if (same) return;
  }
  known_.push_back(seen);
  parts_.push_back(part);
}

void Crossings::compute(const Point& x) {
  const auto of = [this](const Node& from, int k) {
    return from.child[k] < 0 ? 0 : values_[static_cast<std::size_t>(from.child[k])];
  };
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    const Node& node = nodes_[i];
    if (node.op == Op::number) values_[i] = node.value;
    else if (node.op == Op::variable) values_[i] = x[axis_of_[static_cast<std::size_t>(node.name)]];
    else values_[i] = formula::apply<double>(node.op, of(node, 0), of(node, 1), of(node, 2));
  }
}

double Crossings::value(const Part& part) const {
  return part.second ? values_[part.first] - values_[*part.second] : values_[part.first];
}

double Crossings::at(const Part& part, const Point& x) {
  compute(x);
  return value(part);
}

// The middle of the box, and points that have no place in common with anything.
Point Crossings::scattered(int i) const {
  constexpr double golden = 0.6180339887498949;
  Point out(d_);
  for (std::size_t axis = 0; axis < d_; ++axis) {
    const double share = golden * std::sqrt(static_cast<double>(axis) + 2) * i;
    out[axis] = box_.axes[axis].lower + std::fmod(share + 0.5, 1) * length(axis);
  }
  return out;
}

// How the parts of the set change along each axis, over its whole length.
bool Crossings::slopes(const Point& x, std::vector<Point>& out) {
  constexpr double h = 1e-6;
  out.assign(set_.size(), Point(d_));
  Point there = x;
  for (std::size_t axis = 0; axis < d_; ++axis) {
    for (const double side : {-1.0, 1.0}) {
      there[axis] = x[axis] + side * h * length(axis);
      compute(there);
      for (std::size_t k = 0; k < set_.size(); ++k) out[k][axis] += side * value(parts_[set_[k]]) / (2 * h);
    }
    there[axis] = x[axis];
  }
  for (const Point& row : out)
    for (const double slope : row)
      if (!std::isfinite(slope)) return false;
  return true;
}

// By Newton's steps, the shortest where there are fewer parts than axes.
std::optional<Point> Crossings::common_zero(const Point& start, int& steps) {
  constexpr int most_steps = 16;
  constexpr double near = 1e-11;
  Point x = start;
  const std::size_t count = set_.size();
  std::vector<Point> slope;
  for (steps = 1; steps <= most_steps; ++steps) {
    if (!slopes(x, slope)) return std::nullopt;
    compute(x);
    Point right(count);
    std::vector<Point> matrix(count, Point(count));
    for (std::size_t i = 0; i < count; ++i) {
      right[i] = -value(parts_[set_[i]]);
      for (std::size_t j = 0; j < count; ++j)
        for (std::size_t axis = 0; axis < d_; ++axis) matrix[i][j] += slope[i][axis] * slope[j][axis];
    }
    if (!solve(matrix, right)) return std::nullopt;
    double moved = 0;
    for (std::size_t axis = 0; axis < d_; ++axis) {
      double by = 0;
      for (std::size_t i = 0; i < count; ++i) by += slope[i][axis] * right[i];
      if (!std::isfinite(by)) return std::nullopt;
      moved = std::fmax(moved, std::fabs(by));
      x[axis] = std::clamp(x[axis] + by * length(axis), box_.axes[axis].lower, box_.axes[axis].upper);
    }
    if (moved <= near) return x;
  }
  return std::nullopt;
}

// The directions in which one part of the set changes at a time, each by as much as it is long: the columns
// of the slopes' pseudoinverse.
std::vector<Point> Crossings::directions(const std::vector<Point>& slope) const {
  const std::size_t count = slope.size();
  std::vector<Point> out;
  for (std::size_t k = 0; k < count; ++k) {
    std::vector<Point> matrix(count, Point(count));
    Point right(count), direction(d_);
    right[k] = 1;
    for (std::size_t i = 0; i < count; ++i)
      for (std::size_t j = 0; j < count; ++j)
        matrix[i][j] = std::inner_product(slope[i].begin(), slope[i].end(), slope[j].begin(), 0.0);
    if (!solve(matrix, right)) return {};
    for (std::size_t i = 0; i < count; ++i)
      for (std::size_t axis = 0; axis < d_; ++axis) direction[axis] += slope[i][axis] * right[i];
    out.push_back(std::move(direction));
  }
  return out;
}

// What the sides of a parallelepiped span, in lengths of the box: the root of Gram's determinant.
double volume_of(const std::vector<Point>& sides) {
  const std::size_t count = sides.size();
  std::vector<Point> gram(count, Point(count));
  double out = 1;
  for (std::size_t i = 0; i < count; ++i)
    for (std::size_t j = 0; j < count; ++j)
      gram[i][j] = std::inner_product(sides[i].begin(), sides[i].end(), sides[j].begin(), 0.0);
  for (std::size_t k = 0; k < count; ++k) {  // as Cholesky does
    if (!(gram[k][k] > 0)) return 0;
    out *= gram[k][k];
    for (std::size_t i = k + 1; i < count; ++i) {
      const double factor = gram[i][k] / gram[k][k];
      for (std::size_t j = k; j < count; ++j) gram[i][j] -= factor * gram[k][j];
    }
  }
  return std::sqrt(out);
}

// Where f stands out at x in each direction in which one part of the set changes alone.
std::optional<Crossings::Found> Crossings::standing(Point x) {
  constexpr double beside = 6, around = 2;
  std::vector<Point> slope;
  if (!slopes(x, slope)) return std::nullopt;
  std::vector<Point> sides = directions(slope);
  if (sides.empty()) return std::nullopt;
  Found out{infinity, {}};
  out.region.reach.assign(d_, 0);
  for (std::size_t k = 0; k < sides.size(); ++k) {
    const double size =
        std::sqrt(std::inner_product(sides[k].begin(), sides[k].end(), sides[k].begin(), 0.0));
    for (double& part : sides[k]) part /= size;
    double by = 0;
    const double width = standing_beside(f_, box_, x, sides[k], by);
    if (width == 0) return std::nullopt;
    out.mass = std::fmin(out.mass, by);
    for (double& part : sides[k]) part *= 2 * width;
    Point normal = slope[k];
    for (std::size_t axis = 0; axis < d_; ++axis) {
      normal[axis] *= size / (around * width * length(axis));
      out.region.reach[axis] += around / 2 * std::fabs(sides[k][axis]) * length(axis);
    }
    out.region.normals.push_back(std::move(normal));
  }
  out.region.inside = out.region.outside = x;
  out.region.share = std::fmin(1, volume_of(sides));
  out.mass *= out.region.share;
  const auto moved = [&](double by) {
    bool inside = true;
    for (std::size_t axis = 0; axis < d_; ++axis) {
      out.region.outside[axis] = x[axis] + by * sides[0][axis] * length(axis);
      inside = inside && box_.axes[axis].lower <= out.region.outside[axis] &&
               out.region.outside[axis] <= box_.axes[axis].upper;
    }
    return inside;
  };
  if (!moved(beside / 2) && !moved(-beside / 2)) return std::nullopt;
  // Along what a ridge follows, it goes on; of a curve the planes are those that touch it here.
  if (sides.size() < d_)
    for (std::size_t axis = 0; axis < d_; ++axis) out.region.reach[axis] = ridge_reach(slope, axis);
  return out;
}

// A curve keeps to its tangent for a share of the box, a line for all of it.
double Crossings::ridge_reach(const std::vector<Point>& slope, std::size_t axis) {
  constexpr double curved = 0.01;
  std::vector<Point> elsewhere;
  for (int i = 1; i < 3; ++i) {
    if (!slopes(scattered(i), elsewhere)) return curved * length(axis);
    for (std::size_t k = 0; k < slope.size(); ++k)
      for (std::size_t a = 0; a < d_; ++a)
        if (!(std::fabs(elsewhere[k][a] - slope[k][a]) <= 1e-6 * std::fabs(slope[k][a]) + 1e-12))
          return curved * length(axis);
  }
  return infinity;
}

// A ridge is looked at in several places: points that are drawn together at one of them know nothing of it
// elsewhere.
void Crossings::look_at_set() {
  constexpr int starts = 4, linear = 3;
  for (int i = 0; i < starts; ++i) {
    int steps = 0;
    const auto x = common_zero(scattered(i), steps);
    auto found = x ? standing(*x) : std::nullopt;
    const bool known = found && std::any_of(found_.begin(), found_.end(), [&](const Found& other) {
                         return other.region.holds(found->region.inside.data());
                       });
    if (found && !known) found_.push_back(std::move(*found));
    // From everywhere a linear system leads to the same point.
    if (set_.size() == d_ && steps <= linear) break;
  }
}

// All sets of so many parts.
void Crossings::choose(std::size_t from, std::size_t size) {
  if (set_.size() == size) {
    if (sets_++ < most_sets && !until_.passed()) look_at_set();
    return;
  }
  for (std::size_t part = from; part < parts_.size() && sets_ < most_sets; ++part) {
    set_.push_back(part);
    choose(part + 1, size);
    set_.pop_back();
  }
}

std::vector<HiddenRegion> Crossings::run() {
  constexpr std::size_t most = 24;
  for (std::size_t size = std::min(d_, parts_.size()); size > 0; --size) choose(0, size);
  std::stable_sort(found_.begin(), found_.end(),
                   [](const Found& a, const Found& b) { return a.mass > b.mass; });
  std::vector<HiddenRegion> out;
  for (Found& found : found_)
    if (out.size() < most) out.push_back(std::move(found.region));
  return out;
}

}  // namespace

std::vector<HiddenRegion> crossings(const formula::Tree& tree, const std::vector<std::string>& variables,
                                    const Box& box, const Deadline& until) {
  if (variables.size() < 2 || variables.size() > most_axes || tree.nodes().size() > most_nodes) return {};
  for (const Range& range : box.axes)
    if (!range.finite() || !(range.lower < range.upper)) return {};
  return Crossings(tree, variables, box, until).run();
}

}  // namespace tessera::quadrature
