// SPDX-License-Identifier: Apache-2.0
// A train of narrow peaks, sin(2000*x)>0.9999, is met by some probes and missed by others. Where sin, cos and
// tan turn, are 0 or have poles need not be searched: there their argument is a whole multiple of π/2, so
// these places are counted and solved for. Between two of them a wave only rises or only falls, and no peak
// hides.
#include <algorithm>
#include <numbers>
#include "ops/integrate/rules/formula_finder.hpp"

namespace tessera::quadrature {
namespace {

using formula::Op;

constexpr double quarter = std::numbers::pi / 2;
constexpr std::size_t most_quarters = 8192;  // more are not looked at one by one
constexpr std::size_t fewest = 4;            // fewer are no train
constexpr int parts = 4;                     // of a quarter: products of waves turn between those of each

void put_in_order(std::vector<double>& x) {
  std::sort(x.begin(), x.end());
  x.erase(std::unique(x.begin(), x.end()), x.end());
}

// Places between neighbours; in no order.
void add_parts(std::vector<double>& places) {
  const std::size_t count = places.size();
  places.reserve(count * parts);
  for (std::size_t i = 1; i < count; ++i)
    for (int k = 1; k < parts; ++k) places.push_back(places[i - 1] + (places[i] - places[i - 1]) * k / parts);
}

}  // namespace

// What something steep may be made of.
bool Finder::is_wave(std::size_t i) const {
  const Op op = nodes_[i].op;
  return (op == Op::sin || op == Op::cos || op == Op::tan) && of_[i] == Of::variable && sharpened_[i];
}

Finder::Places Finder::arguments(std::size_t node, const Places& x) const {
  Places out;
  std::vector<double> values;
  for (const double at : x) {
    compute(at, values, node);
    out.push_back(values[node]);
  }
  return out;
}

// Where a part of the formula that rises, or falls, from one abscissa to the other has this value.
double Finder::where(std::size_t node, double target, double from, double to) const {
  std::vector<double> values;
  compute(from, values, node);
  const bool rises = values[node] < target;
  for (int i = 0; i < 1100; ++i) {
    const double middle = from + (to - from) / 2;
    if (!(from < middle && middle < to)) break;
    compute(middle, values, node);
    ((values[node] < target) == rises ? from : to) = middle;
  }
  return to;
}

// The places of whole quarters of a turn; false: there are too many.
bool Finder::add_quarters(std::size_t argument, const Places& x, Places& out) const {
  const Places phase = arguments(argument, x);
  double count = 0;
  for (std::size_t i = 1; i < x.size(); ++i) {
    const double low = std::fmin(phase[i - 1], phase[i]), high = std::fmax(phase[i - 1], phase[i]);
    if (std::isnan(phase[i - 1]) || std::isnan(phase[i])) continue;
    count += std::floor(high / quarter) - std::floor(low / quarter);
    if (!(count <= most_quarters)) return false;
    for (double k = std::floor(low / quarter) + 1; k * quarter <= high; ++k)
      out.push_back(where(argument, k * quarter, x[i - 1], x[i]));
  }
  return true;
}

// With the places that all waves turn at; false: some have more than can be looked at.
bool Finder::add_waves(Places& x) {
  wave_places_.clear();
  bool all = true;
  const std::size_t probes = x.size();
  for (std::size_t i = 0; i < nodes_.size(); ++i) {  // inner waves come first
    if (!is_wave(i)) continue;
    const auto argument = static_cast<std::size_t>(nodes_[i].child[0]);
    const Watched seen{argument, Kind::none};
    Places quarters, places = x;
    for (const Place& p : turns(x, arguments(argument, x), argument))
      places.push_back(turn(seen, p.from, p.to, p.what == Place::What::largest));
    put_in_order(places);
    if (!add_quarters(argument, places, quarters)) {
      all = false;
      continue;
    }
    if (quarters.size() < fewest) continue;
    quarters.push_back(x.front());
    quarters.push_back(x.back());
    put_in_order(quarters);
    x = std::move(places);
    add_parts(quarters);
    x.insert(x.end(), quarters.begin(), quarters.end());
    wave_places_.insert(wave_places_.end(), quarters.begin(), quarters.end());
    put_in_order(x);
  }
  put_in_order(wave_places_);
  if (x.size() > probes) add_places_between(x);
  return all;
}

// How far the places of the waves lie apart here; where several waves have some, they may all but coincide.
double Finder::wave_step(double x) const {
  constexpr std::ptrdiff_t around = 6;
  const auto begin = wave_places_.begin(), at = std::lower_bound(begin, wave_places_.end(), x);
  double out = 0;
  for (auto i = at - std::min(around, at - begin); i < wave_places_.end() - 1 && i < at + around; ++i)
    out = std::fmax(out, *(i + 1) - *i);
  return out;
}

// Where a watched value is 0 or turns: what is narrow about it, abs(sin(x)-0.5)<1e-6, is seen from there
// alone.
void Finder::add_places_between(Places& x) const {
  Places found;
  for (std::size_t k = 0; k < watched_.size(); ++k) {
    const Watched& w = watched_[k];
    std::vector<double> values, seen;
    for (const double at : x) {
      compute(at, values, w.node);
      seen.push_back(value(w, values));
    }
    if (w.kind == Kind::jump) continue;
    for (std::size_t i = 1; i < x.size(); ++i)
      if (differ(w.kind, seen[i - 1], seen[i])) found.push_back(locate(w, x[i - 1], x[i], seen[i - 1]));
    for (const Place& p : turns(x, seen, k))
      found.push_back(turn(w, p.from, p.to, p.what == Place::What::largest));
  }
  x.insert(x.end(), found.begin(), found.end());
  put_in_order(x);
}

// The places of one turn of a wave, from that probe on; none where no whole one follows.
Finder::Places Finder::one_turn(std::size_t argument, const Places& x, const Places& phase,
                                std::size_t from) const {
  constexpr double quarters = 4, most_phase = 1e12;  // beyond it phases have few digits
  const auto within = [](double at) { return std::fabs(at) < most_phase; };
  std::size_t to = from + 1;
  while (to < x.size() && within(phase[to]) &&
         !(std::fabs(phase[to] - phase[from]) > (quarters + 2) * quarter))
    ++to;
  if (to >= x.size() || !within(phase[from]) || !within(phase[to])) return {};
  const double sign = phase[to] > phase[from] ? 1 : -1;
  double k = sign > 0 ? std::floor(phase[from] / quarter) + 1 : std::ceil(phase[from] / quarter) - 1;
  Places out;
  for (int i = 0; i <= quarters; ++i, k += sign) out.push_back(where(argument, k * quarter, x[from], x[to]));
  put_in_order(out);
  add_parts(out);
  put_in_order(out);
  return out;
}

// Whether f is narrow beside the length of some turns of its waves: then others hide where nobody has looked.
bool Finder::narrow_waves(const Places& x, bool finite) {
  constexpr std::size_t looked_at = 16;
  constexpr double narrow = 0.07;  // wider ones are met as the swings are …
  const double between =
      finite ? 0.25 : narrow;  // … but jumps are not; on infinite ranges most waves have faded
  all_turns_ = true;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    if (!is_wave(i)) continue;
    const auto argument = static_cast<std::size_t>(nodes_[i].child[0]);
    const Places phase = arguments(argument, x);
    for (std::size_t k = 0; k < looked_at; ++k) {
      Places turn = one_turn(argument, x, phase, k * x.size() / looked_at);
      if (turn.size() < 2) continue;
      wave_places_ = turn;
      add_places_between(turn);
      const Features seen = at(turn);
      const double length = turn.back() - turn.front();
      if (std::any_of(seen.widths.begin(), seen.widths.end(), [&](double w) { return w < narrow * length; }))
        return true;
      for (std::size_t b = 1; b < seen.breaks.size(); ++b)
        if (seen.breaks[b] - seen.breaks[b - 1] < between * length) return true;
    }
  }
  return false;
}

}  // namespace tessera::quadrature
