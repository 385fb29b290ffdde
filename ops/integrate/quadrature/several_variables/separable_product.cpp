// SPDX-License-Identifier: Apache-2.0
#include "ops/integrate/quadrature/several_variables/separable_product.hpp"
#include <fmt/format.h>
#include <algorithm>
#include <chrono>
#include <numeric>
#include "ops/integrate/quadrature/formula/formula_integrand.hpp"
#include "ops/integrate/quadrature/one_variable/auto.hpp"
#include "ops/integrate/quadrature/several_variables/several_variables.hpp"

namespace tessera::quadrature {
namespace {

using formula::Node;
using formula::Op;

// The factors of a product, as texts. exp(a + b) counts as exp(a)·exp(b).
class Factors {
 public:
  explicit Factors(const formula::Tree& tree) : tree_(tree) {
    collect(static_cast<std::int32_t>(tree.nodes().size()) - 1, false);
  }
  const std::vector<std::string>& texts() const { return texts_; }

 private:
  const Node& node(std::int32_t at) const { return tree_.nodes()[static_cast<std::size_t>(at)]; }
  formula::Tree part(std::int32_t at) const { return formula::part(tree_, at); }
  bool constant(std::int32_t at) const {
    const formula::Tree of = part(at);
    return of.names().empty();
  }
  std::string text(std::int32_t at) const { return "(" + formula::to_text(part(at)) + ")"; }

  void collect(std::int32_t at, bool inverse) {
    const Node& of = node(at);
    if (of.op == Op::mul || of.op == Op::div) {
      collect(of.child[0], inverse);
      collect(of.child[1], inverse != (of.op == Op::div));
    } else if (of.op == Op::neg) {
      texts_.push_back("(-1)");
      collect(of.child[0], inverse);
    } else if (of.op == Op::exp) {
      collect_terms(of.child[0], inverse ? "(-1)*" : "");
    } else {
      texts_.push_back((inverse ? "1/" : "") + text(at));
    }
  }
  void collect_terms(std::int32_t at, const std::string& scale) {
    const Node& of = node(at);
    if (of.op == Op::add || of.op == Op::sub) {
      collect_terms(of.child[0], scale);
      collect_terms(of.child[1], of.op == Op::sub ? "(-1)*" + scale : scale);
    } else if (of.op == Op::neg) {
      collect_terms(of.child[0], "(-1)*" + scale);
    } else if (of.op == Op::mul && constant(of.child[0])) {
      collect_terms(of.child[1], text(of.child[0]) + "*" + scale);
    } else if ((of.op == Op::mul || of.op == Op::div) && constant(of.child[1])) {
      collect_terms(of.child[0], (of.op == Op::div ? "1/" : "") + text(of.child[1]) + "*" + scale);
    } else {
      texts_.push_back("exp(" + scale + text(at) + ")");
    }
  }

  const formula::Tree& tree_;
  std::vector<std::string> texts_;
};

}  // namespace

std::vector<SeparateFactor> separate_factors(const formula::Tree& tree,
                                             const std::vector<std::string>& variables) {
  constexpr std::size_t longest = 4096;  // characters; a longer formula is not worth the work
  if (variables.size() < 2 || tree.nodes().size() > longest / 4) return {};
  // Variables that share a factor belong to the same group, which is named by the first of them.
  std::vector<std::size_t> group(variables.size());
  std::iota(group.begin(), group.end(), std::size_t{0});
  std::vector<bool> seen(variables.size());
  std::vector<std::pair<std::string, std::size_t>> factors;  // with one of their variables
  const std::size_t none = variables.size();
  const Factors texts(tree);
  for (const std::string& text : texts.texts()) {
    std::size_t first = none;
    const formula::Tree parsed = formula::parse(text);
    for (const std::string& name : parsed.names()) {
      const auto found = std::find(variables.begin(), variables.end(), name);
      if (found == variables.end()) return {};
      const auto at = static_cast<std::size_t>(found - variables.begin());
      seen[at] = true;
      if (first == none) first = at;
      const std::size_t from = group[at], to = group[first];
      for (std::size_t& one : group)
        if (one == from) one = to;
    }
    factors.emplace_back(text, first);
  }
  if (std::find(seen.begin(), seen.end(), false) != seen.end()) return {};
  std::vector<SeparateFactor> out;
  for (std::size_t name = 0; name < variables.size(); ++name) {
    std::vector<std::size_t> own;
    for (std::size_t k = 0; k < group.size(); ++k)
      if (group[k] == name) own.push_back(k);
    if (own.empty()) continue;
    std::string text;
    for (const auto& [factor, variable] : factors) {
      const bool here = variable == none ? out.empty() : group[variable] == name;  // constants to the first
      if (here) text += (text.empty() ? "" : "*") + ("(" + factor + ")");
    }
    out.push_back({formula::parse(text), own});
  }
  return out.size() > 1 ? out : std::vector<SeparateFactor>{};
}

std::optional<Answer> integrate_separately(const formula::Tree& tree,
                                           const std::vector<std::string>& variables, const Box& box,
                                           const Tolerance& tolerance, Limits& limits, int threads) {
  const std::vector<SeparateFactor> factors = separate_factors(tree, variables);
  if (factors.empty() || !(tolerance.relative > 0)) return std::nullopt;
  const auto count = static_cast<double>(factors.size());
  const Tolerance each{.relative = tolerance.relative / (1.1 * count)};
  Answer out;
  out.value = out.magnitude = 1;
  double largest = 1, rounding = 0;
  const Limits whole = limits;
  std::optional<Answer> endless;
  const auto start = std::chrono::steady_clock::now();
  for (const SeparateFactor& factor : factors) {
    Limits left = whole;
    left.seconds /= 2 * count;
    left.evaluations = limits.evaluations - whole.evaluations / 2;
    if (left.evaluations < 1) return std::nullopt;
    std::vector<std::string> names;
    Box part;
    for (const std::size_t k : factor.variables) {
      names.push_back(variables[k]);
      part.axes.push_back(box.axes[k]);
      if (k < box.breaks.size()) part.breaks.push_back(box.breaks[k]);
    }
    Answer of;
    if (names.size() == 1) {
      Range range = part.axes[0];
      if (range.lower > range.upper) std::swap(range.lower, range.upper);
      of = by_name("auto", integrand_of(factor.formula, names[0], range), part.axes[0], each, left, {});
    } else {
      of =
          integrate_several("auto", batch_integrand_of(factor.formula, names), part, each, left, {}, threads);
    }
    limits.evaluations -= of.evaluations;
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
    limits.seconds = std::fmax(whole.seconds - spent.count(), 0.01 * whole.seconds);
    out.evaluations = of.evaluations = whole.evaluations - limits.evaluations;
    if (of.reason == Reason::non_finite || of.without_limit()) {
      std::vector<double> place(variables.size(), nan);
      for (std::size_t k = 0; k < names.size(); ++k)
        place[factor.variables[k]] = k < of.place.size() ? of.place[k] : of.where;
      of.place = std::move(place);
      if (of.reason == Reason::non_finite) return of;
      endless = of;  // the product has no integral, unless another factor is 0
      continue;
    }
    if (!of.converged()) return std::nullopt;
    largest *= std::fabs(of.value) + of.error();
    rounding += of.value != 0 ? (of.rounding + 4 * unit * of.magnitude) / std::fabs(of.value) : 0;
    out.value *= of.value;
    out.magnitude *= of.magnitude;
  }
  if (endless) return endless;
  const double size = std::fabs(out.value);
  out.rounding = rounding * size;
  out.truncation = std::fmax(0, largest - size);
  if (!(out.error() <= tolerance.of(out.value))) return std::nullopt;
  out.rule = "product";
  out.why = fmt::format("a product of {} factors without common variables, each integrated by itself",
                        factors.size());
  out.reason = Reason::converged;
  return out;
}

}  // namespace tessera::quadrature
