// SPDX-License-Identifier: Apache-2.0
// exp(-1e6*(x-k)^2) is 0 wherever an even look finds it, and abs(x-k) has a kink that no rule likes; but the
// formula says x-k, and so where to cut: one formula of the parameters for all integrals of a batch.
#include <algorithm>
#include <set>
#include <string>
#include "setting.hpp"

namespace tessera::integrate_batch {
namespace {

using formula::Node;
using formula::Op;
using formula::Tree;

constexpr int not_linear = 2;

class Finder {
 public:
  Finder(const Tree& tree, const std::string& variable) : tree_(tree), variable_(variable) {
    for (const Node& node : tree.nodes()) degrees_.push_back(degree_of(node));
  }

  std::vector<Tree> run() {
    std::vector<bool> inside(degrees_.size(), false);  // of a larger part that is linear too
    for (std::size_t i = 0; i < degrees_.size(); ++i)
      for (const std::int32_t child : tree_.nodes()[i].child)
        if (child >= 0 && degrees_[i] == 1) inside[static_cast<std::size_t>(child)] = true;
    for (std::size_t i = 0; i < degrees_.size(); ++i) {
      if (degrees_[i] == 1 && !inside[i]) add_zero(linear_of(static_cast<std::int32_t>(i)));
      if (compares(tree_.nodes()[i].op)) add_meeting(tree_.nodes()[i]);
    }
    return out_;
  }

 private:
  int child_degree(const Node& node, int k) const {
    return node.child[k] < 0 ? 0 : degrees_[static_cast<std::size_t>(node.child[k])];
  }

  int degree_of(const Node& node) const {
    const int a = child_degree(node, 0), b = child_degree(node, 1), c = child_degree(node, 2);
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

  static bool compares(Op op) {
    switch (op) {
      case Op::less:
      case Op::less_equal:
      case Op::equal:
      case Op::not_equal:
      case Op::min:
      case Op::max:
      case Op::fmin:
      case Op::fmax:
        return true;
      default:
        return false;
    }
  }

  void add_meeting(const Node& node) {
    const Linear a = linear_of(node.child[0]), b = linear_of(node.child[1]);
    if (std::max(child_degree(node, 0), child_degree(node, 1)) != 1) return;
    add_zero({joined(a.slope, "-", b.slope), joined(a.rest, "-", b.rest)});
  }

  // slope·x + rest, as texts; empty: 0.
  struct Linear {
    std::string slope, rest;
  };

  static std::string joined(const std::string& a, const char* sign, const std::string& b) {
    if (b.empty()) return a;
    if (a.empty() && sign[0] == '+') return b;
    return "(" + a + sign + b + ")";
  }
  static std::string scaled(const std::string& a, const char* sign, const std::string& b) {
    return a.empty() || b.empty() ? "" : "(" + a + sign + b + ")";
  }

  // Taken apart, not computed from two values: x-k is 0 at k to the last bit, however large k is.
  Linear linear_of(std::int32_t index) const {
    const auto i = static_cast<std::size_t>(index);
    const Node& node = tree_.nodes()[i];
    if (degrees_[i] == 0) return {"", "(" + formula::to_text(formula::part(tree_, index)) + ")"};
    if (degrees_[i] != 1) return {};
    if (node.op == Op::variable) return {"1", ""};
    const Linear a = linear_of(node.child[0]);
    if (node.op == Op::neg) return {joined("", "-", a.slope), joined("", "-", a.rest)};
    const Linear b = linear_of(node.child[1]);
    if (node.op == Op::div) return {scaled(a.slope, "/", b.rest), scaled(a.rest, "/", b.rest)};
    if (node.op == Op::mul && child_degree(node, 0) == 1)
      return {scaled(a.slope, "*", b.rest), scaled(a.rest, "*", b.rest)};
    if (node.op == Op::mul) return {scaled(a.rest, "*", b.slope), scaled(a.rest, "*", b.rest)};
    const char* const sign = node.op == Op::add ? "+" : "-";
    return {joined(a.slope, sign, b.slope), joined(a.rest, sign, b.rest)};
  }

  void add_zero(const Linear& linear) {
    if (linear.slope.empty()) return;
    const std::string text = linear.rest.empty() ? "0" : "-" + linear.rest + "/" + linear.slope;
    if (known_.insert(text).second) out_.push_back(formula::parse(text));
  }

  const Tree& tree_;
  const std::string& variable_;
  std::vector<int> degrees_;
  std::set<std::string> known_;
  std::vector<Tree> out_;
};

}  // namespace

std::vector<Tree> linear_zeros(const Tree& tree, const std::string& variable) {
  return Finder(tree, variable).run();
}

}  // namespace tessera::integrate_batch
