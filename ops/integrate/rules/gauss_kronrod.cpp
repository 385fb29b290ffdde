// SPDX-License-Identifier: Apache-2.0
#include "ops/integrate/rules/gauss_kronrod.hpp"
#include <algorithm>
#include "ops/integrate/rules/fading.hpp"
#include "ops/integrate/rules/sensitivity.hpp"
#include "ops/integrate/rules/null_rules.hpp"
#include "ops/integrate/rules/witnesses.hpp"

namespace tessera::quadrature {
namespace {

struct Cell {
  std::size_t track = 0;
  double from = 0, to = 0;
  double value = 0, error = 0, magnitude = 0, variation = 0, squares = 0;
  double edge[2] = {0, 0};               // the values that the points lead to expect at both ends
  bool steep[2] = {false, false};        // f grows towards them as if it had no limit there
  std::size_t terms = 0;                 // where the values at its points are kept
  double missed = nothing;               // what the witnesses saw beside these
  double moved[2] = {nothing, nothing};  // how far the sums moved when its parents were split, latest first

  // What rounding does to it: a smaller error is nothing but that, and no split mends it.
  double noise() const { return unit * (25 * magnitude + 4 * variation); }
  double open() const { return error <= noise() ? 0 : error; }
  double settled() const { return error <= noise() ? error : 0; }
  bool operator<(const Cell& other) const { return open() < other.open(); }
};

class Adaption {
 public:
  Adaption(Sampler& sampler, std::span<const Track> tracks, const Tolerance& tolerance, const Adaptive& how)
      : sampler_(sampler), tracks_(tracks), tolerance_(tolerance), how_(how) {
    for (const Track& track : tracks) {
      variables_.emplace_back(track.piece, sampler.range());
      for (const int side : {0, 1})
        if (track.inside[side]) variables_.back().stay_inside(side);
    }
  }

  Answer run(Stuck* stuck);

 private:
  bool start();
  bool measure(Cell& cell);
  template <std::size_t half>
  bool apply(const KronrodNodes<half>& nodes, Cell& cell);
  bool split();
  bool indivisible(const Cell& cell) const;
  bool seams_hold(bool over = false);
  bool witnesses_hold();
  bool hear_witnesses(Cell& cell) const;
  bool edges_hold();
  double hidden_at(const Cell& cell, int side);
  void expect_more(Cell& left, Cell& right, double moved) const;
  double gap(const Cell& cell) const;
  void add_up();
  Answer conclude(Stuck* stuck);
  double x_of(const Cell& cell, double t) const;
  double middle_x(const Cell& cell) const { return x_of(cell, 0.5 * (cell.from + cell.to)); }
  void count(const Cell& cell, double sign);
  // What is left to rounding differs from cell to cell by chance, and partly cancels.
  double error() const { return open_ + 3 * std::sqrt(std::fmax(0, settled_)); }

  Sampler& sampler_;
  std::span<const Track> tracks_;
  Tolerance tolerance_;
  Adaptive how_;
  std::vector<Variable> variables_;
  std::vector<double> terms_;
  std::vector<Cell> cells_;  // a heap, the largest error first
  double value_ = 0, open_ = 0, settled_ = 0, magnitude_ = 0, variation_ = 0, squares_ = 0;
  Reason reason_ = Reason::converged;
  double where_ = nothing;
  bool whole_ = false;  // every part of the range has been measured
};

template <std::size_t half>
bool Adaption::apply(const KronrodNodes<half>& nodes, Cell& cell) {
  constexpr std::size_t count = 2 * half - 1;
  const Track& track = tracks_[cell.track];
  const double digitless = track.least_told();
  double t[count], x[count], distance[count], weight[count], y[count];
  const double middle = 0.5 * (cell.from + cell.to), radius = 0.5 * (cell.to - cell.from);
  for (std::size_t i = 0; i < half; ++i) {
    t[i] = middle - radius * nodes.x[i];
    t[count - 1 - i] = middle + radius * nodes.x[i];
  }
  track.map(variables_[cell.track], sampler_.range(), t, x, distance, weight);
  if (!sampler_({x, count}, {distance, count}, {y, count})) return false;
  const auto& differences = Differences<half>::of(nodes);
  double kronrod = 0, magnitude = 0, apart[Differences<half>::count] = {},
         odd[Differences<half>::odd_count] = {};
  const std::array<double, edge_nodes> outwards = edge_weights(nodes);
  cell.variation = cell.squares = cell.edge[0] = cell.edge[1] = 0;
  const bool* knows = sampler_.integrand().knows;
  double outer[2][3];
  cell.terms = terms_.size();
  cell.missed = nothing;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t k = std::min(i, count - 1 - i);
    const double term = y[i] * weight[i];
    if (!std::isfinite(term)) {
      reason_ = Reason::non_finite;
      where_ = x[i];
      return false;
    }
    if (how_.seen != nullptr) terms_.push_back(term);
    kronrod += nodes.kronrod[k] * term;
    magnitude += nodes.kronrod[k] * std::fabs(term);
    for (std::size_t j = 0; j < std::size(apart); ++j)
      apart[j] += differences.weight[j][k] * (k + 1 == half ? 2 * term : term);
    for (std::size_t j = 0; j < std::size(odd); ++j)
      odd[j] += differences.odd[j][k] * (i == k ? -term : term);
    if (k < edge_nodes) cell.edge[i == k ? 0 : 1] += outwards[k] * term;
    if (k < 3) outer[i == k ? 0 : 1][k] = term;
    if (i == 0) continue;
    double place = std::fmax(digitless, std::fmin(std::fabs(x[i]), std::fabs(x[i - 1])));
    if (knows[distance[i] < 0 ? 1 : 0])
      place = std::min({place, std::fabs(distance[i]), std::fabs(distance[i - 1])});
    const double moved = std::fabs(y[i] - y[i - 1]) * place;
    cell.variation += moved;
    cell.squares += moved * moved;
  }
  for (const int side : {0, 1}) {
    const double* const of = outer[side];
    cell.steep[side] = of[0] / of[1] > 2 && of[1] / of[2] > 1.4;
  }
  cell.value = radius * kronrod;
  cell.magnitude = radius * magnitude;
  cell.error = radius * Differences<half>::told(apart, odd, cell.noise() / radius);
  return true;
}

bool Adaption::measure(Cell& cell) {
  return how_.pair == Pair::k15 ? apply(kronrod15, cell) : apply(kronrod21, cell);
}

bool Adaption::start() {
  for (std::size_t i = 0; i < tracks_.size(); ++i) {
    const double from = tracks_[i].from, width = tracks_[i].to - from;
    for (int k = 0; k < how_.first_cells; ++k) {
      Cell cell;
      cell.track = i;
      cell.from = from + width * k / how_.first_cells;
      cell.to = k + 1 == how_.first_cells ? tracks_[i].to : from + width * (k + 1) / how_.first_cells;
      if (!measure(cell)) return false;
      cells_.push_back(cell);
    }
  }
  std::make_heap(cells_.begin(), cells_.end());
  add_up();
  return true;
}

void Adaption::count(const Cell& cell, double sign) {
  value_ += sign * cell.value;
  open_ += sign * cell.open();
  settled_ += sign * cell.settled() * cell.settled();
}

void Adaption::add_up() {
  value_ = open_ = settled_ = magnitude_ = variation_ = squares_ = 0;
  for (const Cell& cell : cells_) {
    count(cell, 1);
    magnitude_ += cell.magnitude;
    variation_ += cell.variation;
    squares_ += cell.squares;
  }
}

bool Adaption::indivisible(const Cell& cell) const {
  const double width = cell.to - cell.from;
  return width <= 64 * unit * std::fmax(std::fabs(cell.from), std::fabs(cell.to)) || width < 1e-300;
}

// Splits the worst cell; false when that cannot help.
bool Adaption::split() {
  const Cell parent = cells_.front();
  if (parent.open() == 0) {
    reason_ = Reason::roundoff;
    return false;
  }
  if (indivisible(parent)) {
    reason_ = Reason::singular;
    where_ = middle_x(parent);
    return false;
  }
  if (static_cast<std::int64_t>(cells_.size()) >= sampler_.limits().regions) {
    reason_ = Reason::memory;
    return false;
  }
  Cell left = parent, right = parent;
  left.to = right.from = parent.from + how_.split * (parent.to - parent.from);
  if (!measure(left) || !measure(right)) return false;
  // A sum that moved further than the parent's error shows that the estimate cannot be trusted here.
  const double moved = std::fabs(parent.value - (left.value + right.value));
  if (moved > parent.error && moved > parent.noise()) {
    left.error = std::fmax(left.error, moved / 2);
    right.error = std::fmax(right.error, moved / 2);
  }
  if (moved > parent.noise()) expect_more(left, right, moved);
  if (!std::isnan(parent.missed))
    for (Cell* const cell : {&left, &right}) hear_witnesses(*cell);
  std::pop_heap(cells_.begin(), cells_.end());
  cells_.back() = left;
  std::push_heap(cells_.begin(), cells_.end());
  cells_.push_back(right);
  std::push_heap(cells_.begin(), cells_.end());
  count(left, 1);
  count(right, 1);
  count(parent, -1);
  return true;
}

// Where sums move by a factor less from split to split, as they do around a singularity, the pair differs by
// far less than it is off: what all further splits would add is an error, too.
void Adaption::expect_more(Cell& left, Cell& right, double moved) const {
  const double factor = std::sqrt(moved / left.moved[1]);
  Cell& worse = left.error < right.error ? right : left;
  if (factor > 0.5) worse.error = std::fmax(worse.error, moved / std::fmax(0.02, 1 / factor - 1));
  for (Cell* const cell : {&left, &right}) {
    cell->moved[1] = cell->moved[0];
    cell->moved[0] = moved;
  }
}

// What a pair sums up of t^-a from 0 to 1, beside the integral.
template <std::size_t half>
double missed(const KronrodNodes<half>& nodes, double a) {
  double sum = 0;
  for (std::size_t i = 0; i < half; ++i) {
    const double near = (1 - nodes.x[i]) / 2, far = (1 + nodes.x[i]) / 2;
    sum += nodes.kronrod[i] / 2 * (std::pow(near, -a) + (i + 1 < half ? std::pow(far, -a) : 0));
  }
  return 1 / (1 - a) - sum;
}

// How far off the sum of a cell is whose integrand grows towards one of its edges; infinite where that may
// be any amount.
double Adaption::hidden_at(const Cell& cell, int side) {
  const double width = cell.to - cell.from, edge = side == 0 ? cell.from : cell.to;
  const double nearest = std::fmax(1e-300, 64 * 2 * unit * std::fabs(edge));
  // Where x has few digits left the places are those of the rule.
  const double factor = std::clamp(std::cbrt(nearest / width), 0x1p-8, 0.35);
  double t[3], x[3], distance[3], weight[3], y[3], d[3];
  for (int k = 0; k < 3; ++k) {
    d[k] = width * std::pow(factor, k + 1);
    t[k] = side == 0 ? edge + d[k] : edge - d[k];
  }
  tracks_[cell.track].map(variables_[cell.track], sampler_.range(), t, x, distance, weight);
  if (!sampler_(x, distance, y)) return 0;
  if (!std::isfinite(y[2] * weight[2])) return infinity;
  const double apart = -std::log(factor);
  double slope[2];  // of the distance times f: 1 where f has a limit
  for (int k = 0; k < 2; ++k) slope[k] = 1 - std::log(y[k + 1] * weight[k + 1] / (y[k] * weight[k])) / apart;
  if (!(slope[1] < 0.6)) return 0;
  const double left = lasting_slope(slope[0], slope[1], apart);
  if (!(left > 0)) return infinity;
  const double a = 1 - left, last = std::fabs(y[2] * weight[2]);
  const double share = how_.pair == Pair::k15 ? missed(kronrod15, a) : missed(kronrod21, a);
  return 1.5 * std::fabs(share) * last * std::pow(d[2], a) * std::pow(width, left);
}

// Charges cells for what grows towards their edges; true: the tolerance is met all the same, or never will.
bool Adaption::edges_hold() {
  bool charged = false;
  for (Cell& cell : cells_)
    for (const int side : {0, 1}) {
      if (!cell.steep[side]) continue;
      const double hidden = hidden_at(cell, side);
      if (!(hidden > cell.error)) continue;
      charged = true;
      cell.error = hidden;
      if (hidden < infinity) continue;
      reason_ = Reason::may_diverge;
      where_ = x_of(cell, side == 0 ? cell.from : cell.to);
      add_up();
      return true;
    }
  if (!charged) return true;
  std::make_heap(cells_.begin(), cells_.end());
  add_up();
  return error() <= tolerance_.of(value_);
}

// The part of a cell that lies beyond its outermost points, on one side.
double Adaption::gap(const Cell& cell) const {
  const double outermost = how_.pair == Pair::k15 ? kronrod15.x[0] : kronrod21.x[0];
  return 0.5 * (cell.to - cell.from) * (1 - outermost);
}

// Charges cells that expect different values where they meet; true: the tolerance is met all the same.
// `over`: nothing will be split any more, and what rounding does has been counted.
bool Adaption::seams_hold(bool over) {
  std::sort(cells_.begin(), cells_.end(), [](const Cell& a, const Cell& b) {
    return a.track != b.track ? a.track < b.track : a.from < b.from;
  });
  for (std::size_t i = 1; i < cells_.size(); ++i) {
    Cell &left = cells_[i - 1], &right = cells_[i];
    if (left.track != right.track) continue;
    const double apart = std::fabs(left.edge[1] - right.edge[0]);
    if (apart <= 1e3 * unit * std::fmax(std::fabs(left.edge[1]), std::fabs(right.edge[0]))) continue;
    if (over && apart * gap(left) <= left.noise() && apart * gap(right) <= right.noise()) continue;
    left.error = std::fmax(left.error, apart * gap(left));
    right.error = std::fmax(right.error, apart * gap(right));
  }
  std::make_heap(cells_.begin(), cells_.end());
  add_up();
  return error() <= tolerance_.of(value_);
}

// True: the cell's error has become greater.
bool Adaption::hear_witnesses(Cell& cell) const {
  if (!std::isnan(cell.missed)) return false;
  const double* const terms = &terms_[cell.terms];
  cell.missed = how_.pair == Pair::k15 ? how_.seen->missed<8>(cell.track, cell.from, cell.to, terms)
                                       : how_.seen->missed<11>(cell.track, cell.from, cell.to, terms);
  if (!(cell.missed > cell.noise())) cell.missed = 0;
  if (!(cell.missed > cell.error)) return false;
  cell.error = cell.missed;
  return true;
}

// Charges cells for what was seen before beside their points; true: the tolerance is met all the same.
bool Adaption::witnesses_hold() {
  if (how_.seen == nullptr) return true;
  bool charged = false;
  for (Cell& cell : cells_) charged = hear_witnesses(cell) || charged;
  if (!charged) return true;
  std::make_heap(cells_.begin(), cells_.end());
  add_up();
  return error() <= tolerance_.of(value_);
}

Answer Adaption::run(Stuck* stuck) {
  bool going = start();
  whole_ = going;
  for (std::int64_t splits = 1; going; ++splits) {
    if (splits % 64 == 0) add_up();  // what was added and subtracted leaves rounding behind
    if (error() <= tolerance_.of(value_)) {
      add_up();
      if (error() <= tolerance_.of(value_) && seams_hold() && edges_hold() && witnesses_hold()) break;
    }
    going = split();
  }
  add_up();
  if (!going && reason_ == Reason::converged) reason_ = sampler_.cap();
  if (const Reason reason = reason_; !going) {
    edges_hold();
    if (whole_ && reason != Reason::roundoff) seams_hold(true);
    reason_ = reason;
  }
  return conclude(stuck);
}

double Adaption::x_of(const Cell& cell, double t) const {
  double x = 0, distance = 0, weight = 0;
  tracks_[cell.track].map(variables_[cell.track], sampler_.range(), {&t, 1}, {&x, 1}, {&distance, 1},
                          {&weight, 1});
  return x;
}

Answer Adaption::conclude(Stuck* stuck) {
  Answer out;
  const bool transformed = tracks_.front().through != Through::directly;
  out.value = value_;
  out.truncation = whole_ ? error() : infinity;
  // Where values are computed in f32, so are their abscissae.
  const double of_abscissa = sampler_.integrand().in_double ? 0x1p-24 : unit;
  out.rounding = 4 * unit * magnitude_ + of_abscissa * spoiled(variation_, squares_, transformed);
  out.magnitude = magnitude_;
  out.evaluations = sampler_.evaluations();
  out.reason = reason_;
  out.where = where_;
  out.rule = "gauss-kronrod";
  if (reason_ == Reason::converged && !(out.error() <= tolerance_.of(value_))) out.reason = Reason::roundoff;
  if (stuck != nullptr && !cells_.empty()) {
    stuck->x = middle_x(cells_.front());
    for (const Cell& cell : cells_) stuck->missed += std::isnan(cell.missed) ? 0 : cell.missed;
    stuck->share = error() > 0 ? cells_.front().open() / error() : 0;
  }
  return out;
}

}  // namespace

Answer adaptive(Sampler& sampler, std::span<const Track> tracks, const Tolerance& tolerance,
                const Adaptive& how, Stuck* stuck) {
  return Adaption(sampler, tracks, tolerance, how).run(stuck);
}

Answer gauss_kronrod(const Integrand& f, const Range& range, const Tolerance& tolerance, const Limits& limits,
                     const Adaptive& how, std::span<const double> points) {
  Sampler sampler(f, range, limits);
  std::vector<Track> tracks;
  for (const Piece& piece : cut(range, points)) tracks.push_back(Track::direct(piece));
  return adaptive(sampler, tracks, tolerance, how);
}

}  // namespace tessera::quadrature
