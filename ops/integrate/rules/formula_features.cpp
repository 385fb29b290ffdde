// SPDX-License-Identifier: Apache-2.0
// A needle between two probes is invisible, but x - 0.7123 inside of it changes its sign there, and the sum
// inside exp(-1e9*(x^2-x+1/4)) is smallest there. So every part of the formula is computed at the probes:
// where one changes sign the place is found by halving, where a sum is largest or smallest by the golden
// section.
#include <algorithm>
#include "ops/integrate/rules/formula_integrand.hpp"
#include "ops/integrate/rules/probe.hpp"
#include "tessera/formula/interpret.hpp"

namespace tessera::quadrature {
namespace {

using formula::Node;
using formula::Op;

constexpr std::size_t most_work = 4'000'000, most_breaks = 64, most_centres = 4;  // more: it swings

enum class Kind {
  none,
  centre,
  edge,
  jump
};  // edge: not smooth where the watched value is 0; jump: where it changes

struct Watched {
  std::size_t node;
  Kind kind;
  int first = -1,
      second = -1;  // the watched value: of a child, or the difference of two; neither: of the node
};

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

class Finder {
 public:
  Finder(const formula::Tree& tree, const std::string& variable)
      : nodes_(tree.nodes()), tree_(tree), variable_(variable) {
    for (std::size_t i = 0; i < nodes_.size(); ++i)
      if (const Watched w = watched(nodes_, i); w.kind != Kind::none) watched_.push_back(w);
  }

  Features run(const Range& range);

 private:
  void compute(double x, std::vector<double>& values) const;
  double value(const Watched& w, const std::vector<double>& values) const;
  double locate(const Watched& w, double from, double to, double before) const;
  double turn(const Watched& w, double from, double to, bool largest) const;
  void find_turns(const std::vector<double>& x, const std::vector<double>& seen, const Watched& w,
                  Features& out) const;

  const std::vector<Node>& nodes_;
  const formula::Tree& tree_;
  const std::string& variable_;
  std::vector<Watched> watched_;
};

void Finder::compute(double x, std::vector<double>& values) const {
  values.resize(nodes_.size());
  const auto child = [&](const Node& node, int k) {
    return node.child[k] < 0 ? 0 : values[static_cast<std::size_t>(node.child[k])];
  };
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    const Node& node = nodes_[i];
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

bool differ(Kind kind, double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return false;
  return kind == Kind::jump ? a != b : (a < 0) != (b < 0);
}

// Halves until no number lies between; the upper one is the place.
double Finder::locate(const Watched& w, double from, double to, double before) const {
  std::vector<double> values;
  for (int i = 0; i < 1100; ++i) {
    const double middle = from + (to - from) / 2;
    if (!(from < middle && middle < to)) break;
    compute(middle, values);
    (differ(w.kind, before, value(w, values)) ? to : from) = middle;
  }
  return to;
}

// Where the watched value is largest, or smallest, between two abscissae.
double Finder::turn(const Watched& w, double from, double to, bool largest) const {
  constexpr double golden = 0.6180339887498949;
  std::vector<double> values;
  const auto height = [&](double x) {
    compute(x, values);
    return largest ? value(w, values) : -value(w, values);
  };
  for (int i = 0; i < 80; ++i) {
    const double left = to - golden * (to - from), right = from + golden * (to - from);
    if (!(from < left && left < right && right < to)) break;
    (height(left) > height(right) ? to : from) = height(left) > height(right) ? right : left;
  }
  return from + (to - from) / 2;
}

void Finder::find_turns(const std::vector<double>& x, const std::vector<double>& seen, const Watched& w,
                        Features& out) const {
  std::vector<double> turns;
  for (std::size_t i = 1; i + 1 < seen.size(); ++i) {
    const double before = seen[i] - seen[i - 1], after = seen[i] - seen[i + 1],
                 noise = 1e-12 * std::fabs(seen[i]);
    const bool largest = before > noise && after > noise, smallest = before < -noise && after < -noise;
    if (!largest && !smallest) continue;
    if (turns.size() == most_centres) return;  // it swings
    turns.push_back(turn(w, x[i - 1], x[i + 1], largest));
  }
  out.centres.insert(out.centres.end(), turns.begin(), turns.end());
}

Features Finder::run(const Range& range) {
  Features out;
  const std::vector<double> x = probe_places(range, {.even = 1001, .per_decade = 6, .dense = 40});
  if (watched_.empty() || x.size() * nodes_.size() > most_work) return out;
  std::vector<std::vector<std::pair<std::size_t, double>>> changes(
      watched_.size());  // before which probe, and from what
  std::vector<double> values, last(watched_.size(), nothing);
  std::vector<std::vector<double>> sums(watched_.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    compute(x[i], values);
    for (std::size_t k = 0; k < watched_.size(); ++k) {
      const double now = value(watched_[k], values);
      if (i > 0 && differ(watched_[k].kind, last[k], now)) changes[k].emplace_back(i, last[k]);
      last[k] = now;
      if (watched_[k].kind == Kind::centre) sums[k].push_back(now);
    }
  }
  for (std::size_t k = 0; k < watched_.size(); ++k) {
    const bool centre = watched_[k].kind == Kind::centre;
    if (changes[k].size() > (centre ? most_centres : most_breaks)) continue;
    for (const auto& [i, before] : changes[k]) {
      const double place = locate(watched_[k], x[i - 1], x[i], before);
      (centre ? out.centres : out.breaks).push_back(place);
    }
  }
  for (std::size_t k = 0; k < watched_.size(); ++k) find_turns(x, sums[k], watched_[k], out);
  for (std::vector<double>* list : {&out.breaks, &out.centres}) {
    std::sort(list->begin(), list->end());
    list->erase(std::unique(list->begin(), list->end()), list->end());
    if (list->size() > most_breaks) list->clear();
  }
  if (out.centres.size() > 16) out.centres.resize(16);
  return out;
}

}  // namespace

Features features_of(const formula::Tree& tree, const std::string& variable, const Range& range) {
  return Finder(tree, variable).run(range);
}

}  // namespace tessera::quadrature
