// SPDX-License-Identifier: Apache-2.0
// For each part of the formula, finds its exact value c at the end and, if that is known, computes the rest,
// part - c, without subtracting c. A part whose c is 0 equals its rest. Each identity used holds in the whole
// range, not only near the end.
#include "tessera/formula/distance.hpp"
#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>
#include <vector>

namespace tessera::formula {
namespace {

// --- polynomials whose coefficients are computed exactly or not at all, because rounding would move a root
// ---

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
  bool holds() const { return holds_; }  // nothing was rounded so far

 private:
  void keep(bool exact) { holds_ = holds_ && exact; }
  bool holds_ = true;
};

using Polynomial =
    std::vector<double>;  // from the constant upwards, the last not 0 unless it is the only one
using Maybe = std::optional<Polynomial>;
constexpr std::size_t max_terms = 9;

Maybe kept(Polynomial p, const Exact& exact) {
  while (p.size() > 1 && p.back() == 0) p.pop_back();
  if (!exact.holds() || p.size() > max_terms) return std::nullopt;
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
      exponent[0] >= max_terms)
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

// Returns p(at + side·d) as a polynomial of d.
Maybe shifted(Polynomial p, double at, double side) {
  Exact exact;
  for (std::size_t i = 0; i + 1 < p.size(); ++i)
    for (std::size_t j = p.size() - 1; j-- > i;) p[j] = exact.sum(p[j], exact.product(at, p[j + 1]));
  for (std::size_t i = 1; i < p.size(); i += 2) p[i] *= side;
  return kept(p, exact);
}

// --- the formula near an end ---

// True if f(0) = 0 and f keeps its digits there.
bool vanishes_with_its_argument(Op op) {
  return is_one_of(op, {Op::sin, Op::tan, Op::asin, Op::atan, Op::sinh, Op::tanh, Op::asinh, Op::atanh,
                        Op::expm1, Op::log1p, Op::cbrt, Op::sqrt, Op::erf, Op::abs});
}

class Rewriter {
 public:
  Rewriter(const Tree& tree, std::string_view variable, End end, double at)
      : tree_(tree),
        variable_(variable),
        at_(at),
        side_(end == End::lower ? 1 : -1),
        out_{Tree(tree.text())} {}

  AtEnd run() {
    const std::size_t count = tree_.nodes().size();
    for (const Node& node : tree_.nodes()) {
      of_variable_.push_back(polynomial(node));
      const Maybe& p = of_variable_.back();
      of_distance_.push_back(p ? shifted(*p, at_, side_) : std::nullopt);
      at_end_.push_back(of_distance_.back() ? of_distance_.back()->front() : limit(node));
    }
    whole_.assign(count, -1);
    rest_.assign(count, -1);
    whole(static_cast<std::int32_t>(count) - 1);
    return std::move(out_);
  }

 private:
  using Index = std::int32_t;
  static std::size_t at(Index i) { return static_cast<std::size_t>(i); }
  const Maybe& polynomial_of(const Node& node, int i) const { return of_variable_[at(node.child[i])]; }

  Maybe polynomial(const Node& node) const {
    if (node.op == Op::number)
      return std::isfinite(node.value) ? Maybe(Polynomial{node.value}) : std::nullopt;
    if (node.op == Op::variable) {
      if (tree_.names()[at(node.name)] != variable_) return std::nullopt;
      return Polynomial{0, 1};
    }
    if (arity(node.op) > 2 || !polynomial_of(node, 0) || (arity(node.op) == 2 && !polynomial_of(node, 1)))
      return std::nullopt;
    const Polynomial& a = *polynomial_of(node, 0);
    switch (node.op) {
      case Op::neg:
        return scaled_sum({0}, -1, a);
      case Op::add:
        return scaled_sum(a, 1, *polynomial_of(node, 1));
      case Op::sub:
        return scaled_sum(a, -1, *polynomial_of(node, 1));
      case Op::mul:
        return product(a, *polynomial_of(node, 1));
      case Op::div:
        return quotient(a, *polynomial_of(node, 1));
      case Op::pow:
        return power(a, *polynomial_of(node, 1));
      default:
        return std::nullopt;
    }
  }

  // --- the value at the end of a part that is no polynomial, if it is exact and its rest is known ---
  std::optional<double> limit(const Node& node) const {
    if (arity(node.op) == 0 || arity(node.op) > 2 || !at_end_[at(node.child[0])]) return std::nullopt;
    const double a = *at_end_[at(node.child[0])];
    if (arity(node.op) == 1) return limit_of_one(node.op, a);
    if (!at_end_[at(node.child[1])]) return std::nullopt;
    const double b = *at_end_[at(node.child[1])];
    Exact exact;
    double c = 0;
    switch (node.op) {
      case Op::add:
        c = exact.sum(a, b);
        break;
      case Op::sub:
        c = exact.sum(a, -b);
        break;
      case Op::mul:
        c = exact.product(a, b);
        break;
      case Op::div:
        if (b == 0) return std::nullopt;
        c = exact.quotient(a, b);
        break;
      case Op::pow:
        return limit_of_power(node, a);
      default:
        return std::nullopt;
    }
    if (!exact.holds() || !std::isfinite(c)) return std::nullopt;
    return c;
  }

  static std::optional<double> limit_of_one(Op op, double a) {
    if (op == Op::neg) return -a;
    if (a == 0 && vanishes_with_its_argument(op)) return 0;
    if (a == 0 && is_one_of(op, {Op::exp, Op::cos, Op::cosh})) return 1;
    if (a == 1 && is_one_of(op, {Op::log, Op::log2, Op::log10, Op::acos, Op::acosh})) return 0;
    if (a == 1 && op == Op::sqrt) return 1;
    return std::nullopt;
  }

  // Integer powers may have a negative base, unlike the logarithm.
  std::optional<double> limit_of_power(const Node& node, double base) const {
    const Node& exponent = tree_.nodes()[at(node.child[1])];
    if (exponent.op != Op::number) return std::nullopt;
    if (base == 0 && exponent.value > 0) return 0;
    if (base == 1 && exponent.value != std::trunc(exponent.value)) return 1;
    return std::nullopt;
  }

  // --- writing; each part once ---
  bool is_constant(Index i) const { return of_variable_[at(i)] && of_variable_[at(i)]->size() == 1; }

  Index whole(Index i) {
    Index& written = whole_[at(i)];
    if (written >= 0) return written;
    Node node = tree_.nodes()[at(i)];
    if (at_end_[at(i)] && *at_end_[at(i)] == 0 && !is_constant(i)) return written = rest(i);
    for (Index& c : node.child)
      if (c >= 0) c = whole(c);
    return written = node.op == Op::variable
                         ? out_.tree.add_variable(tree_.names()[at(node.name)], node.place)
                         : out_.tree.add(node);
  }

  // Returns the part minus its value at the end; only for a part that varies.
  Index rest(Index i) {
    Index& written = rest_[at(i)];
    if (written >= 0) return written;
    out_.exact = true;
    const Node& node = tree_.nodes()[at(i)];
    if (of_distance_[at(i)]) {
      out_.saves = out_.saves || ((node.op == Op::add || node.op == Op::sub) && *at_end_[at(i)] == 0 &&
                                  *at_end_[at(node.child[0])] != 0);
      return written = rest_of_polynomial(*of_distance_[at(i)], node.place);
    }
    return written = arity(node.op) == 1 ? rest_of_one(node) : rest_of_two(node);
  }

  Index rest_of_one(const Node& node) {
    const Index a = rest(node.child[0]);
    const bool from_1 = *at_end_[at(node.child[0])] == 1;
    out_.saves =
        out_.saves || *at_end_[at(node.child[0])] != 0 || is_one_of(node.op, {Op::exp, Op::cos, Op::cosh});
    const auto half_root = [&](Index x, double by) { return make(Op::sqrt, make(Op::mul, number(by), x)); };
    switch (node.op) {
      case Op::exp:
        return make(Op::expm1, a);
      case Op::log:
        return make(Op::log1p, a);
      case Op::log2:
        return make(Op::div, make(Op::log1p, a), number(std::numbers::ln2));
      case Op::log10:
        return make(Op::div, make(Op::log1p, a), number(std::numbers::ln10));
      case Op::cos:
        return make(Op::mul, number(-2), squared(make(Op::sin, make(Op::mul, number(0.5), a))));
      case Op::cosh:
        return make(Op::mul, number(2), squared(make(Op::sinh, make(Op::mul, number(0.5), a))));
      case Op::acos:
        return make(Op::mul, number(2), make(Op::asin, half_root(a, -0.5)));
      case Op::acosh:
        return make(Op::mul, number(2), make(Op::asinh, half_root(a, 0.5)));
      case Op::sqrt:
        if (!from_1) return make(Op::sqrt, a);
        return make(Op::div, a, make(Op::add, number(1), make(Op::sqrt, make(Op::add, number(1), a))));
      default:
        return make(node.op, a);
    }
  }

  Index rest_of_two(const Node& node) {
    const Index a = node.child[0], b = node.child[1];
    const double c = *at_end_[at(a)], d = *at_end_[at(b)];
    switch (node.op) {
      case Op::add:
      case Op::sub:
        if (is_constant(b)) return rest(a);
        if (is_constant(a)) return node.op == Op::add ? rest(b) : make(Op::neg, rest(b));
        return make(node.op, rest(a), rest(b));
      case Op::mul:
        if (c == 0 && !is_constant(a)) return make(Op::mul, rest(a), whole(b));
        if (d == 0 && !is_constant(b)) return make(Op::mul, whole(a), rest(b));
        if (is_constant(a)) return make(Op::mul, whole(a), rest(b));
        if (is_constant(b)) return make(Op::mul, rest(a), whole(b));
        return make(Op::add, make(Op::mul, number(c), rest(b)), make(Op::mul, rest(a), whole(b)));
      case Op::div:
        if (c == 0 || is_constant(b)) return make(Op::div, is_constant(a) ? whole(a) : rest(a), whole(b));
        if (is_constant(a)) return make(Op::div, make(Op::mul, number(-c / d), rest(b)), whole(b));
        return make(Op::div, make(Op::sub, rest(a), make(Op::mul, number(c / d), rest(b))), whole(b));
      default:  // a power
        if (c == 0) return make(Op::pow, rest(a), whole(b));
        out_.saves = true;
        return make(Op::expm1, make(Op::mul, whole(b), make(Op::log1p, rest(a))));
    }
  }

  // Writes d^k · (c_k + c_{k+1} d + …) by Horner's scheme, whatever the constant is.
  Index rest_of_polynomial(const Polynomial& p, std::uint32_t place) {
    const Index distance = out_.tree.add_variable(distance_name, place);
    Index sum = -1;
    for (std::size_t i = p.size(); i-- > 0;) {
      if (sum >= 0) sum = make(Op::mul, sum, distance);
      if (p[i] == 0 || i == 0) continue;
      sum = sum < 0 ? number(p[i]) : make(Op::add, number(p[i]), sum);
    }
    return sum < 0 ? number(0) : sum;  // no terms: a constant
  }

  Index make(Op op, Index a, Index b = -1) { return out_.tree.add(op, 0, a, b); }
  Index number(double value) { return out_.tree.add_number(value, static_cast<float>(value), 0); }
  Index squared(Index a) { return make(Op::mul, a, a); }

  const Tree& tree_;
  std::string_view variable_;
  double at_, side_;
  std::vector<Maybe> of_variable_, of_distance_;
  std::vector<std::optional<double>> at_end_;
  std::vector<Index> whole_, rest_;  // nodes already written, by part
  AtEnd out_;
};

}  // namespace

AtEnd with_distance(const Tree& tree, std::string_view variable, End end, double at) {
  if (!std::isfinite(at)) return {tree};
  return Rewriter(tree, variable, end, at).run();
}

}  // namespace tessera::formula
