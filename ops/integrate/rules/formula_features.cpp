// SPDX-License-Identifier: Apache-2.0
// A needle between two probes is invisible, but x - 0.7123 inside of it changes its sign there, and the sum
// inside exp(-1e9*(x^2-x+1/4)) is smallest there. So every part of the formula is computed at the probes:
// where one changes sign the place is found by halving, where a sum is largest or smallest by the golden
// section.
#include <algorithm>
#include "ops/integrate/rules/formula_finder.hpp"
#include "ops/integrate/rules/formula_integrand.hpp"
#include "ops/integrate/rules/probe.hpp"
#include "tessera/formula/interpret.hpp"

namespace tessera::quadrature {
namespace {

using formula::Node;
using formula::Op;

constexpr std::size_t most_work = 4'000'000;

bool whole(const Node& node) { return node.op == Op::number && node.value == std::trunc(node.value); }

Watched watched(const std::vector<Node>& nodes, std::size_t i) {
  const Node& node = nodes[i];
  switch (node.op) {
    case Op::abs:
    case Op::sign:
    case Op::log:
    case Op::sqrt:
    case Op::cbrt:
    case Op::select:
    case Op::logic_not:
      return {i, Kind::edge, node.child[0]};
    case Op::div:
      return {i, Kind::edge, node.child[1]};
    case Op::pow:
      return {i, whole(nodes[static_cast<std::size_t>(node.child[1])]) ? Kind::none : Kind::edge,
              node.child[0]};
    case Op::less:
    case Op::less_equal:
    case Op::equal:
    case Op::not_equal:
    case Op::min:
    case Op::max:
    case Op::fmin:
    case Op::fmax:
      return {i, Kind::edge, node.child[0], node.child[1]};
    case Op::floor:
    case Op::ceil:
    case Op::trunc:
    case Op::round:
    case Op::fmod:
      return {i, Kind::jump};
    case Op::add:
    case Op::sub:
      return {i, Kind::centre};
    default:
      return {i, Kind::none};
  }
}

}  // namespace

Finder::Finder(const formula::Tree& tree, const std::string& variable)
    : nodes_(tree.nodes()), tree_(tree), variable_(variable), alone_(tree.names().size() <= 1) {
  classify();
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    const Watched w = watched(nodes_, i);
    if (w.kind != Kind::none && depends(w)) watched_.push_back(w);
    if (is_inner(i)) watched_.push_back({i, Kind::inner});
  }
}

void Finder::classify() {
  for (const Node& node : nodes_) {
    Of of = Of::none;
    if (node.op == Op::variable)
      of = tree_.names()[static_cast<std::size_t>(node.name)] == variable_ ? Of::variable : Of::others;
    for (const auto child : node.child)
      if (child >= 0) of = std::max(of, of_[static_cast<std::size_t>(child)]);
    of_.push_back(of);
  }
  sharpened_.assign(nodes_.size(), false);
  for (std::size_t i = nodes_.size(); i-- > 0;)
    for (int k = 0; k < 3; ++k)
      if (const auto child = nodes_[i].child[k]; child >= 0)
        sharpened_[static_cast<std::size_t>(child)] =
            sharpened_[static_cast<std::size_t>(child)] || sharpened_[i] || sharpens(i, k);
}

bool Finder::sharpens(std::size_t i, int k) const {
  constexpr double mild = 16;
  const Node& node = nodes_[i];
  switch (node.op) {
    case Op::add:
    case Op::sub:
    case Op::mul:
    case Op::neg:
      return false;
    case Op::div:
      return k == 1;
    case Op::pow: {
      const Node& power = nodes_[static_cast<std::size_t>(node.child[1])];
      return k == 1 || !(whole(power) && 0 <= power.value && power.value <= mild);
    }
    default:
      return true;
  }
}

bool Finder::depends(const Watched& w) const {
  if (w.first < 0) return of_[w.node] == Of::variable;
  Of of = of_[static_cast<std::size_t>(w.first)];
  if (w.second >= 0) of = std::max(of, of_[static_cast<std::size_t>(w.second)]);
  return of == Of::variable;
}

// Sums are watched by themselves; a constant times something is that.
bool Finder::is_inner(std::size_t i) const {
  const Node& node = nodes_[i];
  if (of_[i] != Of::variable || !sharpened_[i] || i + 1 == nodes_.size() || node.child[0] < 0) return false;
  const auto of_child = [&](int k) { return of_[static_cast<std::size_t>(node.child[k])]; };
  switch (node.op) {
    case Op::mul:
    case Op::div:
      return of_child(0) == Of::variable && of_child(1) == Of::variable;
    case Op::pow:
      return of_child(0) == Of::variable;
    case Op::neg:
    case Op::exp:
      return false;
    default:
      return watched(nodes_, i).kind == Kind::none || node.op == Op::log;
  }
}

void Finder::compute(double x, std::vector<double>& values, std::size_t last) const {
  values.resize(nodes_.size());
  const auto child = [&](const Node& node, int k) {
    return node.child[k] < 0 ? 0 : values[static_cast<std::size_t>(node.child[k])];
  };
  for (std::size_t i = 0; i <= last; ++i) {
    const Node& node = nodes_[i];
    if (of_[i] == Of::others) continue;
    if (node.op == Op::number) values[i] = node.value;
    else if (node.op == Op::variable) values[i] = x;
    else values[i] = formula::apply<double>(node.op, child(node, 0), child(node, 1), child(node, 2));
  }
}

double Finder::value(const Watched& w, const std::vector<double>& values) const {
  const Node& node = nodes_[w.node];
  if (node.op == Op::fmod) {  // how often the divisor was taken off
    const auto of = [&](int k) { return values[static_cast<std::size_t>(node.child[k])]; };
    return std::round((of(0) - values[w.node]) / of(1));
  }
  if (w.first < 0) return values[w.node];
  const double first = values[static_cast<std::size_t>(w.first)];
  return w.second < 0 ? first : first - values[static_cast<std::size_t>(w.second)];
}

// Halves until no number lies between; the upper one is the place.
double Finder::locate(const Watched& w, double from, double to, double before) const {
  std::vector<double> values;
  for (int i = 0; i < 1100; ++i) {
    const double middle = from + (to - from) / 2;
    if (!(from < middle && middle < to)) break;
    compute(middle, values, w.node);
    (differ(w.kind, before, value(w, values)) ? to : from) = middle;
  }
  return to;
}

// Where the watched value is largest, or smallest, between two abscissae.
double Finder::turn(const Watched& w, double from, double to, bool largest) const {
  constexpr double golden = 0.6180339887498949;
  std::vector<double> values;
  const auto height = [&](double x) {
    compute(x, values, w.node);
    return largest ? value(w, values) : -value(w, values);
  };
  double left = to - golden * (to - from), right = from + golden * (to - from);
  double at_left = height(left), at_right = height(right);
  for (int i = 0; i < 80 && from < left && left < right && right < to; ++i) {
    // Near a smooth turn rounding alone tells heights apart.
    if (i > 30 && std::fabs(at_left - at_right) <= unit * std::fabs(at_left))
      return left + (right - left) / 2;
    if (at_left > at_right) {
      to = std::exchange(right, left);
      at_right = at_left;
      left = to - golden * (to - from);
      at_left = height(left);
    } else {
      from = std::exchange(left, right);
      at_left = at_right;
      right = from + golden * (to - from);
      at_right = height(right);
    }
  }
  return from + (to - from) / 2;
}

std::vector<Place> Finder::turns(const std::vector<double>& x, const std::vector<double>& seen,
                                 std::size_t k) const {
  std::vector<Place> out;
  for (std::size_t i = 1, end = 1; i + 1 < seen.size(); i = end + 1) {
    const double noise = 1e-12 * std::fabs(seen[i]);
    // Where every turn is a place, others lie so near it that they show the same.
    for (end = i; all_turns_ && end + 2 < seen.size() && std::fabs(seen[end + 1] - seen[i]) <= noise;) ++end;
    const double before = seen[i] - seen[i - 1], after = seen[i] - seen[end + 1];
    const bool largest = before > noise && after > noise, smallest = before < -noise && after < -noise;
    if (largest || smallest)
      out.push_back({.watched = k,
                     .from = x[i - 1],
                     .to = x[end + 1],
                     .what = largest ? Place::What::largest : Place::What::smallest});
  }
  return out;
}

Features Finder::run(const Range& range) {
  Places x = probe_places(range, {.even = 1001, .per_decade = 6, .dense = 40});
  if (watched_.empty() || x.size() * nodes_.size() > most_work) return {};
  Places with_turns = x;
  const bool all = !alone_ || add_waves(with_turns);
  all_turns_ = all && with_turns.size() > x.size() && with_turns.size() * nodes_.size() <= most_work;
  Features out = at(all_turns_ ? with_turns : x);
  const bool unseen = !all || too_many_ || (with_turns.size() > x.size() && !all_turns_);
  if (alone_ && unseen && !out.crowded) out.crowded = narrow_waves(x, range.finite());
  return out;
}

// With what these abscissae show, which must lie in order.
Features Finder::at(const Places& x) {
  Features out;
  needles_.clear();
  const std::size_t most = all_turns_ ? most_wave_breaks : most_breaks;
  std::vector<std::vector<Place>> changes(watched_.size());
  std::vector<double> values, last(watched_.size(), nothing);
  std::vector<std::vector<double>> sums(watched_.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    compute(x[i], values);
    for (std::size_t k = 0; k < watched_.size(); ++k) {
      const double now = value(watched_[k], values);
      if (i > 0 && differ(watched_[k].kind, last[k], now))
        changes[k].push_back({.watched = k, .from = x[i - 1], .to = x[i], .before = last[k]});
      last[k] = now;
      if (watched_[k].kind <= Kind::inner) sums[k].push_back(now);
    }
  }
  for (std::size_t k = 0; k < watched_.size(); ++k)
    if (watched_[k].kind <= Kind::inner) choose(std::move(changes[k]), x, out);
    else if (changes[k].size() <= most)
      for (const Place& p : changes[k]) out.breaks.push_back(place_of(p));
    else too_many_ = true;
  for (std::size_t k = 0; k < watched_.size(); ++k) choose(turns(x, sums[k], k), x, out);
  constexpr std::size_t most_looked_beside = 16;
  std::vector<double> known = out.centres;
  known.insert(known.end(), out.breaks.begin(), out.breaks.end());
  if (!alone_ && known.size() <= most_looked_beside) add_beside(known, x, out);
  for (std::size_t k = 0; k < watched_.size() && alone_; ++k)
    if (watched_[k].kind == Kind::jump) look_for_teeth(changes[k], x, out);
  for (std::vector<double>* list : {&out.breaks, &out.centres}) {
    std::sort(list->begin(), list->end());
    list->erase(std::unique(list->begin(), list->end()), list->end());
    const bool breaks = list == &out.breaks;
    too_many_ = too_many_ || (breaks && list->size() > most);
    if (list->size() > (breaks ? most : most_breaks)) list->clear();
  }
  if (out.centres.size() > 16) out.centres.resize(16);
  finish(out);
  if (alone_) add_edges(x, out);
  return out;
}

Features features_of(const formula::Tree& tree, const std::string& variable, const Range& range) {
  return Finder(tree, variable).run(range);
}

std::vector<Features> features_of(const formula::Tree& tree, const std::vector<std::string>& variables,
                                  const Box& box) {
  std::vector<Features> out;
  for (std::size_t axis = 0; axis < variables.size(); ++axis) {
    const Range& range = box.axes[axis];
    const Range upwards{std::fmin(range.lower, range.upper), std::fmax(range.lower, range.upper)};
    const bool any = upwards.lower < upwards.upper;
    out.push_back(any ? features_of(tree, variables[axis], upwards) : Features{});
  }
  return out;
}

}  // namespace tessera::quadrature
