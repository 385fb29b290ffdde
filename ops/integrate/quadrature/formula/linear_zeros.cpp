// SPDX-License-Identifier: Apache-2.0
#include "ops/integrate/quadrature/formula/linear_zeros.hpp"
#include <algorithm>
#include <set>
#include "ops/integrate/quadrature/formula/formula_integrand.hpp"

namespace tessera::quadrature {
namespace {

using formula::Node;
using formula::Op;
using formula::Tree;

// slope·x + rest, as text, so that its zero is exact to the last bit for parameters of any size. Empty: 0.
struct Linear {
  std::string slope, rest;
};

std::string sum(const std::string& a, const char* sign, const std::string& b) {
  if (b.empty()) return a;
  if (a.empty() && sign[0] == '+') return b;
  return "(" + a + sign + b + ")";
}
std::string product(const std::string& a, const char* sign, const std::string& b) {
  return a.empty() || b.empty() ? "" : "(" + a + sign + b + ")";
}
Linear negative(const Linear& a) { return {sum("", "-", a.slope), sum("", "-", a.rest)}; }

class Finder {
 public:
  Finder(const Tree& tree, const std::string& variable, std::size_t most)
      : tree_(tree), variable_(variable), most_(most) {
    for (const Node& node : tree.nodes()) degrees_.push_back(degree_of(node));
  }

  LinearZeros run() {
    const auto& nodes = tree_.nodes();
    std::vector<bool> inside(nodes.size(), false);  // in a larger part that is linear too
    for (std::size_t i = 0; i < nodes.size(); ++i)
      for (const std::int32_t child : nodes[i].child)
        if (child >= 0 && degrees_[i] == 1) inside[static_cast<std::size_t>(child)] = true;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      if (degrees_[i] == 1 && !inside[i]) add_zero(linear(static_cast<std::int32_t>(i)));
      look_at(nodes[i]);
    }
    return std::move(out_);
  }

 private:
  static constexpr int not_linear = 2;
  static constexpr std::size_t max_branches = 8;

  int degree(std::int32_t index) const { return index < 0 ? 0 : degrees_[static_cast<std::size_t>(index)]; }
  bool varies(std::int32_t index) const { return degree(index) != 0; }
  const Node& node_at(std::int32_t index) const { return tree_.nodes()[static_cast<std::size_t>(index)]; }

  int degree_of(const Node& node) const {
    const int a = degree(node.child[0]), b = degree(node.child[1]), c = degree(node.child[2]);
    switch (node.op) {
      case Op::number:
        return 0;
      case Op::variable:
        return tree_.names()[static_cast<std::size_t>(node.name)] == variable_ ? 1 : 0;
      case Op::neg:
        return a;
      case Op::add:
      case Op::sub:
        return std::max(a, b);
      case Op::mul:
        return std::min(a + b, not_linear);
      case Op::div:
        return b == 0 ? a : not_linear;
      default:
        return a + b + c == 0 ? 0 : not_linear;
    }
  }

  // For a part whose degree is below 2.
  Linear linear(std::int32_t index) const {
    const Node& node = node_at(index);
    if (degree(index) == 0) return {"", "(" + formula::to_text(formula::part(tree_, index)) + ")"};
    if (node.op == Op::variable) return {"1", ""};
    const Linear a = linear(node.child[0]);
    return node.op == Op::neg ? negative(a) : combined(node, a, linear(node.child[1]));
  }

  // For a sum, a difference, or a product or quotient with a constant part.
  Linear combined(const Node& node, const Linear& a, const Linear& b) const {
    if (node.op == Op::div) return {product(a.slope, "/", b.rest), product(a.rest, "/", b.rest)};
    if (node.op == Op::mul)
      return {varies(node.child[0]) ? product(a.slope, "*", b.rest) : product(a.rest, "*", b.slope),
              product(a.rest, "*", b.rest)};
    const char* const sign = node.op == Op::add ? "+" : "-";
    return {sum(a.slope, sign, b.slope), sum(a.rest, sign, b.rest)};
  }
  bool combines(const Node& node) const {
    const bool left = varies(node.child[0]), right = varies(node.child[1]);
    return node.op == Op::add || node.op == Op::sub || (node.op == Op::mul && !(left && right)) ||
           (node.op == Op::div && !right);
  }

  // Returns the possible linear forms of a part that abs() makes of linear ones. Empty: another kind of part,
  // or too many forms.
  std::vector<Linear> branches(std::int32_t index) const {
    if (degree(index) < not_linear) return {linear(index)};
    const Node& node = node_at(index);
    std::vector<Linear> out;
    if (node.op == Op::abs || node.op == Op::neg)
      for (const Linear& one : branches(node.child[0])) {
        out.push_back(negative(one));
        if (node.op == Op::abs) out.push_back(one);
      }
    if (combines(node))
      for (const Linear& a : branches(node.child[0]))
        for (const Linear& b : branches(node.child[1])) out.push_back(combined(node, a, b));
    return out.size() > max_branches ? std::vector<Linear>{} : out;
  }

  void add_zero(const Linear& linear) {
    if (linear.slope.empty()) return;
    const std::string text = linear.rest.empty() ? "0" : "-" + linear.rest + "/" + linear.slope;
    if (!known_.insert(text).second) return;
    if (out_.places.size() < most_) out_.places.push_back(formula::parse(text));
    else out_.complete = false;
  }

  // Adds the zeros of a part, if it varies.
  void add_zeros(std::int32_t index) {
    if (!varies(index)) return;
    const std::vector<Linear> all = branches(index);
    for (const Linear& one : all) add_zero(one);
    if (all.empty()) out_.complete = false;
  }

  // Adds the places where two parts are equal.
  void add_meetings(std::int32_t a, std::int32_t b) {
    if (!varies(a) && !varies(b)) return;
    const std::vector<Linear> left = branches(a), right = branches(b);
    for (const Linear& x : left)
      for (const Linear& y : right) add_zero({sum(x.slope, "-", y.slope), sum(x.rest, "-", y.rest)});
    if (left.empty() || right.empty()) out_.complete = false;
  }

  // Adds the points where a comparison's value changes: where its sides are equal.
  void add_condition(std::int32_t index) {
    const Op op = node_at(index).op;
    if (!breaks_where_arguments_meet(op) && op != Op::logic_not && op != Op::logic_and && op != Op::logic_or)
      add_zeros(index);
  }

  void look_at(const Node& node) {
    const std::int32_t a = node.child[0], b = node.child[1];
    switch (node.op) {
      case Op::abs:
      case Op::sign:
        return add_zeros(a);
      case Op::logic_not:
      case Op::select:
        return add_condition(a);
      case Op::logic_and:
      case Op::logic_or:
        add_condition(a);
        return add_condition(b);
      case Op::floor:
      case Op::ceil:
      case Op::trunc:
      case Op::round:
      case Op::fmod:
        if (varies(a) || varies(b)) out_.complete = false;
        return;
      default:
        if (breaks_where_arguments_meet(node.op)) add_meetings(a, b);
    }
  }

  const Tree& tree_;
  const std::string& variable_;
  std::size_t most_;
  std::vector<int> degrees_;
  std::set<std::string> known_;
  LinearZeros out_;
};

}  // namespace

LinearZeros linear_zeros(const Tree& tree, const std::string& variable, std::size_t most) {
  return Finder(tree, variable, most).run();
}

}  // namespace tessera::quadrature
