// SPDX-License-Identifier: Apache-2.0
#include "ops/integrate/quadrature/breakpoints.hpp"
#include <algorithm>
#include "ops/integrate/quadrature/double_exponential.hpp"
#include "tessera/formula/interpret.hpp"

namespace tessera::quadrature {
namespace {

using formula::Node;
using formula::Op;

// What is watched: the value of a node, or the difference of two.
struct Watched {
  std::int32_t first = -1, second = -1;
  bool jumps = false;  // the value is a step function: each change counts, not the sign's
  bool kink = true;    // f is continuous, or jumps, there: else it may have a pole or a branch point
};

class Finder {
 public:
  Finder(const formula::Tree& tree, const std::string& variable);

  bool nothing_to_do() const { return watched_.empty(); }
  std::vector<double> run(const Range& range);

 private:
  bool depends(std::int32_t node) const { return node >= 0 && depends_[static_cast<std::size_t>(node)]; }
  double value(const Watched& w, double x);
  static bool differ(const Watched& w, double a, double b) {
    if (std::isnan(a) || std::isnan(b)) return false;
    return w.jumps ? a != b : (a < 0) != (b < 0);
  }
  double locate(const Watched& w, double from, double to, double before);
  void between(const Watched& w, double from, double to, double before, double after);
  void dip(const Watched& w, double from, double to, double beside);
  void look(const Watched& w, const std::vector<double>& x);

  const std::vector<Node>& nodes_;
  std::vector<bool> depends_;  // on the variable, and on no other
  std::vector<double> values_;
  std::vector<Watched> watched_;
  std::vector<double> found_;
};

bool whole_number(const Node& node) { return node.op == Op::number && node.value == std::trunc(node.value); }

Finder::Finder(const formula::Tree& tree, const std::string& variable)
    : nodes_(tree.nodes()), values_(tree.nodes().size()) {
  std::vector<bool> other(nodes_.size());
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    const Node& node = nodes_[i];
    bool own = false;
    if (node.op == Op::variable) {
      own = tree.names()[static_cast<std::size_t>(node.name)] == variable;
      other[i] = !own;
    }
    for (const auto child : node.child)
      if (child >= 0) {
        own = own || depends_[static_cast<std::size_t>(child)];
        other[i] = other[i] || other[static_cast<std::size_t>(child)];
      }
    depends_.push_back(own);
  }
  for (std::size_t i = 0; i < nodes_.size(); ++i) depends_[i] = depends_[i] && !other[i];
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    const Node& node = nodes_[i];
    Watched w;
    switch (node.op) {
      case Op::abs:
      case Op::sign:
        w = {node.child[0]};
        break;
      case Op::log:
      case Op::sqrt:
      case Op::cbrt:
        w = {node.child[0], -1, false, false};
        break;
      case Op::div:
        w = {node.child[1], -1, false, false};
        break;
      case Op::pow:
        if (!whole_number(nodes_[static_cast<std::size_t>(node.child[1])]) ||
            nodes_[static_cast<std::size_t>(node.child[1])].value < 0)
          w = {node.child[0], -1, false, false};
        break;
      case Op::less:
      case Op::less_equal:
      case Op::equal:
      case Op::not_equal:
      case Op::min:
      case Op::max:
      case Op::fmin:
      case Op::fmax:
        w = {node.child[0], node.child[1]};
        break;
      case Op::floor:
      case Op::ceil:
      case Op::trunc:
      case Op::round:
        w = {static_cast<std::int32_t>(i), -1, true};
        break;
      case Op::fmod:  // how often the divisor was taken off, about: its jumps are those of the value
        w = {static_cast<std::int32_t>(i), node.child[0], true};
        break;
      default:
        break;
    }
    if (w.first < 0) continue;
    if (depends(w.first) || (depends(w.second) && w.second >= 0)) watched_.push_back(w);
  }
}

double Finder::value(const Watched& w, double x) {
  const auto last = static_cast<std::size_t>(std::max(w.first, w.second));
  const auto child = [&](const Node& node, int k) {
    return node.child[k] < 0 ? 0 : values_[static_cast<std::size_t>(node.child[k])];
  };
  for (std::size_t i = 0; i <= last; ++i) {
    const Node& node = nodes_[i];
    if (node.op == Op::number) values_[i] = node.value;
    else if (node.op == Op::variable) values_[i] = x;
    else values_[i] = formula::apply<double>(node.op, child(node, 0), child(node, 1), child(node, 2));
  }
  const double first = values_[static_cast<std::size_t>(w.first)];
  if (w.second < 0) return first;
  const double second = values_[static_cast<std::size_t>(w.second)];
  if (!w.jumps) return first - second;
  const Node& node = nodes_[static_cast<std::size_t>(w.first)];  // fmod
  return std::round((second - first) / values_[static_cast<std::size_t>(node.child[1])]);
}

// Halves until no number lies between. The upper one is the place, unless the value is 0 at the lower one.
double Finder::locate(const Watched& w, double from, double to, double before) {
  for (int i = 0; i < 1100; ++i) {
    const double middle = from + (to - from) / 2;
    if (!(from < middle && middle < to)) break;
    const double there = value(w, middle);
    if (!w.jumps && there == 0) return middle;
    (differ(w, before, there) ? to : from) = middle;
  }
  return !w.jumps && value(w, from) == 0 ? from : to;
}

// All changes between two points whose values differ.
void Finder::between(const Watched& w, double from, double to, double before, double after) {
  while (differ(w, before, after) && found_.size() <= most_breakpoints) {
    from = locate(w, from, to, before);
    found_.push_back(from);
    if (!w.jumps || !(from < to)) return;
    before = value(w, from);
  }
}

// Between two points of one sign the value may cross 0 twice: looks where |value| is smallest.
void Finder::dip(const Watched& w, double from, double to, double beside) {
  constexpr double golden = 0.6180339887498949;
  constexpr int steps = 40;
  const double first = from, last = to;
  double left = to - golden * (to - from), right = from + golden * (to - from);
  double at_left = value(w, left), at_right = value(w, right);
  for (int i = 0; i < steps && from < left && left < right && right < to; ++i) {
    for (const double x : {left, right}) {
      const double there = x == left ? at_left : at_right;
      if (!differ(w, beside, there)) continue;
      found_.push_back(locate(w, first, x, beside));
      found_.push_back(locate(w, x, last, there));
      return;
    }
    if (std::fabs(at_left) < std::fabs(at_right)) {
      to = std::exchange(right, left);
      at_right = at_left;
      left = to - golden * (to - from);
      at_left = value(w, left);
    } else {
      from = std::exchange(left, right);
      at_left = at_right;
      right = from + golden * (to - from);
      at_right = value(w, right);
    }
  }
}

void Finder::look(const Watched& w, const std::vector<double>& x) {
  double before = nothing, last = nothing;  // the values at the two points before
  for (std::size_t i = 0; i < x.size() && found_.size() <= most_breakpoints; ++i) {
    const double now = value(w, x[i]);
    if (i > 0 && differ(w, last, now)) between(w, x[i - 1], x[i], last, now);
    else if (i > 1 && !w.jumps && last == 0 && before != 0 && now != 0) found_.push_back(x[i - 1]);
    else if (i > 1 && !w.jumps && std::fabs(last) < std::fabs(before) && std::fabs(last) < std::fabs(now) &&
             (before < 0) == (now < 0) && (last < 0) == (now < 0))
      dip(w, x[i - 2], x[i], last);
    before = last;
    last = now;
  }
}

// Points spread evenly over a finite range; evenly in the double exponential variable over an infinite one.
std::vector<double> probes(const Range& range, int count) {
  std::vector<double> out;
  if (range.finite()) {
    for (int i = 0; i <= count; ++i)
      out.push_back(range.lower + (range.upper - range.lower) * (i + 0.4 * (i % 2)) / (count + 0.4));
    if (range.contains(0)) out.push_back(0);
  } else {
    constexpr double reach = 3;  // of t: distances of 1e-7 to 1e7
    const bool both = std::isinf(range.lower) && std::isinf(range.upper);
    for (int i = 0; i <= count; ++i) {
      const double t = both ? reach * i / count : reach * (2.0 * i / count - 1);
      const double d = double_exponential_node(both ? Shape::everywhere : Shape::half, t).distance;
      if (std::isinf(range.upper)) out.push_back(both ? d : range.lower + d);
      if (std::isinf(range.lower)) out.push_back(both ? -d : range.upper - d);
    }
  }
  std::sort(out.begin(), out.end());
  return out;
}

std::vector<double> Finder::run(const Range& range) {
  constexpr int most_passes = 4, many = 1024, few = 128;
  const bool kinks = std::any_of(watched_.begin(), watched_.end(), [](const Watched& w) { return w.kink; });
  std::vector<double> x = probes(range, kinks ? many : few), known;
  // What is found shows more: abs(abs(x-0.3)-1e-5) has two kinks beside that of the inner one.
  for (int pass = 0; pass < most_passes; ++pass) {
    found_.clear();
    for (const Watched& w : watched_) look(w, x);
    if (found_.size() > most_breakpoints) return {};
    const auto near = [](double a, double b) {
      return std::isfinite(b) && std::fabs(a - b) <= 16 * unit * std::fmax(std::fabs(a), std::fabs(b));
    };
    std::erase_if(found_, [&](double x_of) {
      return !range.contains(x_of) || near(x_of, range.lower) || near(x_of, range.upper);
    });
    std::sort(found_.begin(), found_.end());
    found_.erase(std::unique(found_.begin(), found_.end(), near), found_.end());
    const bool more = found_.size() > known.size();
    known = found_;
    if (!more || watched_.size() < 2) break;
    x.insert(x.end(), known.begin(), known.end());
    std::sort(x.begin(), x.end());
  }
  return known;
}

}  // namespace

std::vector<double> breakpoints(const formula::Tree& tree, const std::string& variable, const Range& range) {
  Finder finder(tree, variable);
  return finder.nothing_to_do() ? std::vector<double>{} : finder.run(range);
}

}  // namespace tessera::quadrature
