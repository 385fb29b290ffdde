// SPDX-License-Identifier: Apache-2.0
#include "tessera/formula/distance.hpp"
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

namespace tessera::formula {
namespace {

// Exact or nothing: a root that rounding has moved is no root.
class Exact {
 public:
  double sum(double a, double b) {
    const double s = a + b, of_b = s - a;
    keep((a - (s - of_b)) + (b - of_b) == 0);
    return s;
  }
  double product(double a, double b) {
    const double p = a * b;
    keep(std::fma(a, b, -p) == 0 && (p != 0 || a == 0 || b == 0));
    return p;
  }
  double quotient(double a, double b) {
    const double q = a / b;
    keep(std::fma(q, b, -a) == 0 && (q != 0 || a == 0));
    return q;
  }
  bool holds() const { return holds_; }

 private:
  void keep(bool exact) { holds_ = holds_ && exact; }
  bool holds_ = true;
};

using Polynomial =
    std::vector<double>;  // from the constant upwards, the last not 0 unless it is the only one
using Maybe = std::optional<Polynomial>;
constexpr std::size_t most_terms = 9;

Maybe kept(Polynomial p, const Exact& exact) {
  while (p.size() > 1 && p.back() == 0) p.pop_back();
  if (!exact.holds() || p.size() > most_terms) return std::nullopt;
  for (const double c : p)
    if (!std::isfinite(c)) return std::nullopt;
  return p;
}

Maybe scaled_sum(const Polynomial& a, double by, const Polynomial& b) {
  Exact exact;
  Polynomial out(std::max(a.size(), b.size()), 0.0);
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i] = exact.sum(i < a.size() ? a[i] : 0, by * (i < b.size() ? b[i] : 0));
  return kept(out, exact);
}

Maybe product(const Polynomial& a, const Polynomial& b) {
  Exact exact;
  Polynomial out(a.size() + b.size() - 1, 0.0);
  for (std::size_t i = 0; i < a.size(); ++i)
    for (std::size_t j = 0; j < b.size(); ++j) out[i + j] = exact.sum(out[i + j], exact.product(a[i], b[j]));
  return kept(out, exact);
}

Maybe power(const Polynomial& base, const Polynomial& exponent) {
  if (exponent.size() != 1 || exponent[0] != std::trunc(exponent[0]) || exponent[0] < 0 ||
      exponent[0] >= most_terms)
    return std::nullopt;
  Maybe out = Polynomial{1};
  for (int i = 0; i < static_cast<int>(exponent[0]) && out; ++i) out = product(*out, base);
  return out;
}

Maybe quotient(const Polynomial& a, const Polynomial& b) {
  if (b.size() != 1 || b[0] == 0) return std::nullopt;
  Exact exact;
  Polynomial out;
  for (const double c : a) out.push_back(exact.quotient(c, b[0]));
  return kept(out, exact);
}

// p(at + side·d) as a polynomial of d.
Maybe shifted(Polynomial p, double at, double side) {
  Exact exact;
  for (std::size_t i = 0; i + 1 < p.size(); ++i)
    for (std::size_t j = p.size() - 1; j-- > i;) p[j] = exact.sum(p[j], exact.product(at, p[j + 1]));
  for (std::size_t i = 1; i < p.size(); i += 2) p[i] *= side;
  return kept(p, exact);
}

class Rewriter {
 public:
  Rewriter(const Tree& tree, std::string_view variable, End end, double at)
      : tree_(tree), variable_(variable), at_(at), side_(end == End::lower ? 1 : -1) {}

  AtEnd run() {
    const auto& nodes = tree_.nodes();
    for (const Node& node : nodes) {
      const Maybe p = polynomial(node);
      of_variable_.push_back(p);
      of_distance_.push_back(p && p->size() > 1 ? shifted(*p, at_, side_) : std::nullopt);
    }
    mark_needed();
    AtEnd out{Tree(tree_.text())};
    std::vector<std::int32_t> copy(nodes.size(), -1);
    for (std::size_t i = 0; i < nodes.size(); ++i)
      if (needed_[i]) copy[i] = write(out, i, copy);
    return out;
  }

 private:
  const Maybe& child(const Node& node, int i) const {
    return of_variable_[static_cast<std::size_t>(node.child[i])];
  }

  Maybe polynomial(const Node& node) const {
    if (node.op == Op::number)
      return std::isfinite(node.value) ? Maybe(Polynomial{node.value}) : std::nullopt;
    if (node.op == Op::variable) {
      if (tree_.names()[static_cast<std::size_t>(node.name)] != variable_) return std::nullopt;
      return Polynomial{0, 1};
    }
    if (arity(node.op) > 2 || !child(node, 0) || (arity(node.op) == 2 && !child(node, 1)))
      return std::nullopt;
    const Polynomial& a = *child(node, 0);
    switch (node.op) {
      case Op::neg:
        return scaled_sum({0}, -1, a);
      case Op::add:
        return scaled_sum(a, 1, *child(node, 1));
      case Op::sub:
        return scaled_sum(a, -1, *child(node, 1));
      case Op::mul:
        return product(a, *child(node, 1));
      case Op::div:
        return quotient(a, *child(node, 1));
      case Op::pow:
        return power(a, *child(node, 1));
      default:
        return std::nullopt;
    }
  }

  bool is_root(std::size_t i) const { return of_distance_[i] && (*of_distance_[i])[0] == 0; }
  bool is_log_of_one(const Node& node) const {
    if (node.op != Op::log) return false;
    const Maybe& p = of_distance_[static_cast<std::size_t>(node.child[0])];
    return p && (*p)[0] == 1;
  }

  void mark_needed() {
    const auto& nodes = tree_.nodes();
    needed_.assign(nodes.size(), false);
    needed_.back() = true;
    for (std::size_t i = nodes.size(); i-- > 0;) {
      if (!needed_[i] || is_root(i) || is_log_of_one(nodes[i])) continue;
      for (const std::int32_t c : nodes[i].child)
        if (c >= 0) needed_[static_cast<std::size_t>(c)] = true;
    }
  }

  std::int32_t write(AtEnd& out, std::size_t i, const std::vector<std::int32_t>& copy) const {
    Node node = tree_.nodes()[i];
    if (is_root(i)) return write_polynomial(out, *of_distance_[i], node.place);
    if (is_log_of_one(node)) {
      Polynomial p = *of_distance_[static_cast<std::size_t>(node.child[0])];
      p[0] = 0;
      return out.tree.add(Op::log1p, node.place, write_polynomial(out, p, node.place));
    }
    if (node.op == Op::variable)
      return out.tree.add_variable(tree_.names()[static_cast<std::size_t>(node.name)], node.place);
    for (std::int32_t& c : node.child)
      if (c >= 0) c = copy[static_cast<std::size_t>(c)];
    return out.tree.add(node);
  }

  // Horner's way; the constant is 0, so the distance is a factor: d^k · (c_k + c_{k+1} d + …).
  static std::int32_t write_polynomial(AtEnd& out, const Polynomial& p, std::uint32_t place) {
    out.exact = true;
    Tree& tree = out.tree;
    const auto number = [&](double c) { return tree.add_number(c, static_cast<float>(c), place); };
    const auto distance = tree.add_variable(distance_name, place);
    std::int32_t sum = -1;
    for (std::size_t i = p.size(); i-- > 0;) {
      if (sum >= 0) sum = tree.add(Op::mul, place, sum, distance);
      if (p[i] == 0) continue;
      if (sum < 0) sum = number(p[i]);
      else sum = tree.add(Op::add, place, number(p[i]), sum);
    }
    return sum;
  }

  const Tree& tree_;
  std::string_view variable_;
  double at_, side_;
  std::vector<Maybe> of_variable_, of_distance_;
  std::vector<bool> needed_;
};

}  // namespace

AtEnd with_distance(const Tree& tree, std::string_view variable, End end, double at) {
  if (!std::isfinite(at)) return {tree};
  return Rewriter(tree, variable, end, at).run();
}

}  // namespace tessera::formula
