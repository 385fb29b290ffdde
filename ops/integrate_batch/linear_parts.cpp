// SPDX-License-Identifier: Apache-2.0
#include "linear_parts.hpp"
#include <algorithm>

namespace tessera::integrate_batch {

using formula::Node;
using formula::Op;

namespace {

constexpr std::size_t most_branches = 8;

Linear negative(const Linear& a) { return {joined("", "-", a.slope), joined("", "-", a.rest)}; }

}  // namespace

std::string joined(const std::string& a, const char* sign, const std::string& b) {
  if (b.empty()) return a;
  if (a.empty() && sign[0] == '+') return b;
  return "(" + a + sign + b + ")";
}

std::string scaled(const std::string& a, const char* sign, const std::string& b) {
  return a.empty() || b.empty() ? "" : "(" + a + sign + b + ")";
}

bool compares(Op op) {
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

LinearParts::LinearParts(const formula::Tree& tree, const std::string& variable)
    : tree_(tree), variable_(variable) {
  for (const Node& node : tree.nodes()) degrees_.push_back(degree_of(node));
}

int LinearParts::degree_of(const Node& node) const {
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

std::string LinearParts::text(std::int32_t index) const {
  return "(" + formula::to_text(formula::part(tree_, index)) + ")";
}

Linear LinearParts::linear(std::int32_t index) const {
  const Node& node = tree_.nodes()[static_cast<std::size_t>(index)];
  if (degree(index) == 0) return {"", text(index)};
  if (degree(index) != 1) return {};
  if (node.op == Op::variable) return {"1", ""};
  const Linear a = linear(node.child[0]);
  if (node.op == Op::neg) return negative(a);
  const Linear b = linear(node.child[1]);
  if (node.op == Op::div) return {scaled(a.slope, "/", b.rest), scaled(a.rest, "/", b.rest)};
  if (node.op == Op::mul && degree(node.child[0]) == 1)
    return {scaled(a.slope, "*", b.rest), scaled(a.rest, "*", b.rest)};
  if (node.op == Op::mul) return {scaled(a.rest, "*", b.slope), scaled(a.rest, "*", b.rest)};
  const char* const sign = node.op == Op::add ? "+" : "-";
  return {joined(a.slope, sign, b.slope), joined(a.rest, sign, b.rest)};
}

std::vector<Linear> LinearParts::branches(std::int32_t index) const {
  if (degree(index) < not_linear) return {linear(index)};
  const Node& node = tree_.nodes()[static_cast<std::size_t>(index)];
  if (node.op != Op::abs && node.op != Op::neg) return joined_branches(node);
  std::vector<Linear> out = branches(node.child[0]);
  const std::size_t count = out.size();
  if (2 * count > most_branches) return {};
  for (std::size_t i = 0; i < count; ++i) {
    if (node.op == Op::abs) out.push_back(negative(out[i]));
    else out[i] = negative(out[i]);
  }
  return out;
}

std::vector<Linear> LinearParts::joined_branches(const Node& node) const {
  const bool adds = node.op == Op::add || node.op == Op::sub;
  const int a = degree(node.child[0]), b = degree(node.child[1]);
  if (!adds && !(node.op == Op::mul && std::min(a, b) == 0) && !(node.op == Op::div && b == 0)) return {};
  std::vector<Linear> out;
  const char* const sign = node.op == Op::add   ? "+"
                           : node.op == Op::sub ? "-"
                           : node.op == Op::mul ? "*"
                                                : "/";
  for (const Linear& left : branches(node.child[0]))
    for (const Linear& right : branches(node.child[1])) {
      if (adds) out.push_back({joined(left.slope, sign, right.slope), joined(left.rest, sign, right.rest)});
      else if (a == 0)
        out.push_back({scaled(left.rest, sign, right.slope), scaled(left.rest, sign, right.rest)});
      else out.push_back({scaled(left.slope, sign, right.rest), scaled(left.rest, sign, right.rest)});
    }
  return out.size() > most_branches ? std::vector<Linear>{} : out;
}

}  // namespace tessera::integrate_batch
