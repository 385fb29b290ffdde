// SPDX-License-Identifier: Apache-2.0
#include "ops/integrate/quadrature/one_variable/gauss_kronrod.hpp"
#include <algorithm>
#include "ops/integrate/quadrature/one_variable/kronrod_nodes.hpp"
#include "ops/integrate/quadrature/norm.hpp"
#include "ops/integrate/quadrature/one_variable/tanh_sinh.hpp"

namespace tessera::quadrature {
namespace {

struct Cell {
  std::size_t track = 0;
  double from = 0, to = 0;
  double value = 0, error = 0, magnitude = 0;
  double moved = 0;  // the norm of the changes of f from point to point, times x

  // Returns the level below which differences of sums are roundoff.
  double noise(double rounding) const { return 50 * rounding * magnitude; }
};

constexpr std::size_t max_together = 12;  // cells whose points are computed in one call

template <std::size_t half>
constexpr std::size_t points_of = 2 * half - 1;

class Adaption {
 public:
  Adaption(Sampler& sampler, std::span<const Track> tracks, const Tolerance& tolerance, const Adaptive& how,
           const Answer& known)
      : sampler_(sampler), tracks_(tracks), tolerance_(tolerance), how_(how), known_(known) {
    for (const Track& track : tracks) unit_ = std::fmax(unit_, track.part->range().rounding);
  }

  Answer run();

 private:
  template <std::size_t half>
  bool measure(const KronrodNodes<half>& nodes, std::span<Cell> cells);
  template <std::size_t half>
  void place(const KronrodNodes<half>& nodes, const Cell& cell, double* x, double* distance,
             double* weight) const;
  template <std::size_t half>
  bool sum(const KronrodNodes<half>& nodes, Cell& cell, const double* x, const double* distance,
           const double* weight, double* y);
  bool measure(std::span<Cell> cells) {
    return how_.pair == Pair::k15 ? measure(kronrod15, cells) : measure(kronrod21, cells);
  }
  bool start();
  bool split();
  void add_up();
  void count(const Cell& cell, double sign);
  // Returns the cell's error if a smaller cell may reduce it; 0 if it is roundoff.
  double open(const Cell& cell) const { return cell.error > cell.noise(unit_) ? cell.error : 0; }
  double error() const { return std::fmax(open_, 0) + settled_; }
  double value() const { return known_.value + value_; }
  double middle_x(const Cell& cell) const;
  bool less(const Cell& a, const Cell& b) const { return open(a) < open(b); }

  Sampler& sampler_;
  std::span<const Track> tracks_;
  Tolerance tolerance_;
  Adaptive how_;
  const Answer& known_;
  std::vector<Cell> cells_;  // a heap ordered by open()
  double unit_ = unit, value_ = 0, open_ = 0, settled_ = 0, magnitude_ = 0;
  Reason reason_ = Reason::converged;
  double where_ = nan;
};

// Maps u to x = lower + u/(1-u) on a half-infinite range, to x = u/(1-u²) on an infinite one.
void map_directly(const Range& range, double u, double& x, double& distance, double& weight) {
  if (range.finite()) {
    x = u;
    weight = 1;
    distance = range.distance(x);
  } else if (std::isinf(range.lower) && std::isinf(range.upper)) {
    const double square = (1 - u) * (1 + u);
    x = u / square;
    distance = 0;
    weight = (1 + u * u) / (square * square);
  } else {
    const double away = u / (1 - u);
    const bool above = std::isinf(range.upper);
    x = above ? range.lower + away : range.upper - away;
    distance = above ? away : -away;
    weight = 1 / ((1 - u) * (1 - u));
  }
}

template <std::size_t half>
void Adaption::place(const KronrodNodes<half>& nodes, const Cell& cell, double* x, double* distance,
                     double* weight) const {
  constexpr std::size_t points = points_of<half>;
  const Track& track = tracks_[cell.track];
  const double middle = 0.5 * (cell.from + cell.to), radius = 0.5 * (cell.to - cell.from);
  double u[points];
  for (std::size_t i = 0; i < half; ++i) {
    u[i] = middle - radius * nodes.x[i];
    u[points - 1 - i] = middle + radius * nodes.x[i];
  }
  if (track.variable == nullptr) {
    for (std::size_t i = 0; i < points; ++i)
      map_directly(track.part->range(), u[i], x[i], distance[i], weight[i]);
    return;
  }
  const DoubleExponential& variable = *track.variable;
  const int side = middle < 0 ? 0 : 1;
  double away[points];
  const double* given = away;
  if (points == 21 && cell.to - cell.from == first_cell && std::fmod(cell.from, first_cell) == 0) {
    const CellNodes& table = cell_nodes(variable.shape(), static_cast<int>(cell.from / first_cell));
    given = table.distance;
    for (std::size_t i = 0; i < points; ++i) weight[i] = table.weight[i];
  } else {
    for (std::size_t i = 0; i < points; ++i) {
      const Node node = double_exponential_node(variable.shape(), u[i]);
      away[i] = node.distance;
      weight[i] = node.weight;
    }
  }
  variable.place(side, {given, points}, {x, points}, {distance, points});
  const double length = variable.length(), reach = track.reach[side];
  for (std::size_t i = 0; i < points; ++i) weight[i] = std::fabs(u[i]) < reach ? weight[i] * length : 0;
}

template <std::size_t half>
bool Adaption::sum(const KronrodNodes<half>& nodes, Cell& cell, const double* x, const double* distance,
                   const double* weight, double* y) {
  constexpr std::size_t points = points_of<half>, middle = half - 1;
  const double radius = 0.5 * (cell.to - cell.from);
  const DoubleExponential* const variable = tracks_[cell.track].variable;
  const bool exact = variable != nullptr && variable->shape() != Shape::everywhere &&
                     variable->blind(cell.from + cell.to < 0 ? 0 : 1) == 0;
  const double* const known = exact ? distance : x;
  double moved[points - 1];
  for (std::size_t i = 1; i < points; ++i)
    moved[i - 1] = weight[i] != 0 && weight[i - 1] != 0
                       ? (y[i] - y[i - 1]) * std::fmin(std::fabs(known[i]), std::fabs(known[i - 1]))
                       : 0;
  cell.moved = norm(moved);
  for (std::size_t i = 0; i < points; ++i) {
    y[i] = weight[i] == 0 ? 0 : y[i] * weight[i];
    if (std::isfinite(y[i])) continue;
    reason_ = Reason::non_finite;
    where_ = x[i];
    return false;
  }
  double kronrod = nodes.kronrod[middle] * y[middle],
         gauss = half % 2 == 0 ? nodes.gauss[half / 2 - 1] * y[middle] : 0;
  double magnitude = nodes.kronrod[middle] * std::fabs(y[middle]);
  for (std::size_t i = 0; i < middle; ++i) {
    const double left = y[i], right = y[points - 1 - i];
    kronrod += nodes.kronrod[i] * (left + right);
    magnitude += nodes.kronrod[i] * (std::fabs(left) + std::fabs(right));
    if (i % 2 == 1) gauss += nodes.gauss[i / 2] * (left + right);
  }
  const double mean = kronrod / 2;
  double spread = nodes.kronrod[middle] * std::fabs(y[middle] - mean);
  for (std::size_t i = 0; i < middle; ++i)
    spread += nodes.kronrod[i] * (std::fabs(y[i] - mean) + std::fabs(y[points - 1 - i] - mean));
  cell.value = radius * kronrod;
  cell.magnitude = radius * magnitude;
  // QUADPACK's estimate: Kronrod's sum is much closer than Gauss's if f is smooth.
  const double apart = radius * std::fabs(kronrod - gauss);
  spread *= radius;
  cell.error = apart;
  if (spread > 0 && apart > 0) cell.error = spread * std::fmin(1, std::pow(200 * apart / spread, 1.5));
  return true;
}

template <std::size_t half>
bool Adaption::measure(const KronrodNodes<half>& nodes, std::span<Cell> cells) {
  constexpr std::size_t points = points_of<half>;
  double x[max_together * points], distance[max_together * points], weight[max_together * points],
      y[max_together * points];
  for (std::size_t from = 0; from < cells.size();) {
    // Takes consecutive cells in the same part of the range.
    std::size_t to = from, used = 0;
    for (; to < cells.size() && to < from + max_together && cells[to].track == cells[from].track; ++to) {
      place(nodes, cells[to], x + used, distance + used, weight + used);
      used += points;
    }
    if (!sampler_.values(tracks_[cells[from].track].part->f(), {x, used}, {distance, used}, {y, used})) {
      reason_ = sampler_.cap();
      return false;
    }
    for (std::size_t i = from, at = 0; i < to; ++i, at += points)
      if (!sum(nodes, cells[i], x + at, distance + at, weight + at, y + at)) return false;
    from = to;
  }
  return true;
}

bool Adaption::start() {
  for (std::size_t i = 0; i < tracks_.size(); ++i) {
    const Track& track = tracks_[i];
    const double length = track.to - track.from;
    const int count = static_cast<int>(std::fmax(1, std::ceil(length / track.cell)));
    // A jump hides beside an end of a cell, so another split has other first cells, too. Half of it: splits
    // at the golden ratio lead from a whole one to the ends of the others. t = 0 stays an end.
    const double shift = how_.split == 0.5 ? 0 : how_.split / 2;
    double from = track.from;
    for (int k = shift > 0 ? 0 : 1; k <= count; ++k) {
      const double to = k == count ? track.to : track.from + length * (k + shift) / count;
      for (const double end : {track.variable != nullptr ? 0 : to, to}) {
        if (!(from < end && end <= to)) continue;
        Cell cell;
        cell.track = i;
        cell.from = std::exchange(from, end);
        cell.to = end;
        cells_.push_back(cell);
      }
    }
  }
  if (!measure(cells_)) return false;
  std::make_heap(cells_.begin(), cells_.end(), [this](const Cell& a, const Cell& b) { return less(a, b); });
  add_up();
  return true;
}

void Adaption::count(const Cell& cell, double sign) {
  value_ += sign * cell.value;
  magnitude_ += sign * cell.magnitude;
  open_ += sign * open(cell);
}

void Adaption::add_up() {
  value_ = open_ = magnitude_ = 0;
  for (const Cell& cell : cells_) count(cell, 1);
  settled_ = norm(cells_, [this](const Cell& cell) { return cell.error - open(cell); });
}

double Adaption::middle_x(const Cell& cell) const {
  double x[15], distance[15], weight[15];
  place(kronrod15, cell, x, distance, weight);
  return x[7];
}

// Cuts the cell with the largest error; false if that cannot help.
bool Adaption::split() {
  const auto by_error = [this](const Cell& a, const Cell& b) { return less(a, b); };
  const Cell parent = cells_.front();
  const double width = parent.to - parent.from;
  if (open(parent) == 0) {
    reason_ = Reason::roundoff;
    return false;
  }
  if (width <= 64 * unit * std::fmax(std::fabs(parent.from), std::fabs(parent.to)) || width < 1e-300) {
    reason_ = Reason::singular;
    where_ = middle_x(parent);
    return false;
  }
  if (static_cast<std::int64_t>(cells_.size()) >= sampler_.limits().regions) {
    reason_ = Reason::memory;
    return false;
  }
  Cell both[2] = {parent, parent};
  both[0].to = both[1].from = parent.from + how_.split * width;
  if (!measure(both)) return false;
  // A sum that changed by more than the parent's error shows that the estimate is unreliable here.
  const double moved = std::fabs(parent.value - (both[0].value + both[1].value));
  if (moved > parent.error && moved > parent.noise(unit_))
    for (Cell& cell : both) cell.error = std::fmax(cell.error, moved / 2);
  std::pop_heap(cells_.begin(), cells_.end(), by_error);
  cells_.back() = both[0];
  std::push_heap(cells_.begin(), cells_.end(), by_error);
  cells_.push_back(both[1]);
  std::push_heap(cells_.begin(), cells_.end(), by_error);
  for (const Cell& cell : both) count(cell, 1);
  count(parent, -1);
  return true;
}

Answer Adaption::run() {
  bool going = start();
  const bool whole = going;
  for (std::int64_t splits = 1; going; ++splits) {
    if (splits % 64 == 0) add_up();  // updates of the sums accumulate roundoff
    if (error() <= tolerance_.of(value())) {
      add_up();
      if (error() <= tolerance_.of(value())) break;
    }
    going = split();
  }
  add_up();
  Answer out;
  out.value = value();
  out.truncation = whole ? error() + known_.truncation : infinity;
  out.magnitude = magnitude_ + known_.magnitude;
  out.rounding = known_.rounding + 4 * unit * magnitude_ + (unit_ > unit ? unit_ * magnitude_ : 0) +
                 4 * unit_ * norm(cells_, &Cell::moved);
  out.evaluations = sampler_.evaluations();
  out.reason = reason_;
  out.where = where_;
  out.rule = "gauss-kronrod";
  if (reason_ == Reason::converged && !(out.error() <= tolerance_.of(value()))) out.reason = Reason::roundoff;
  return out;
}

}  // namespace

Track Track::direct(const Part& part) {
  const Range& range = part.range();
  Track out{&part};
  if (range.finite()) {
    out.from = range.lower;
    out.to = range.upper;
  } else if (std::isinf(range.lower) && std::isinf(range.upper)) {
    out.from = -1;
  }
  return out;
}

Answer adaptive(Sampler& sampler, std::span<const Track> tracks, const Tolerance& tolerance,
                const Adaptive& how, const Answer& known) {
  return Adaption(sampler, tracks, tolerance, how, known).run();
}

Answer gauss_kronrod(const Integrand& f, const Range& range, const Tolerance& tolerance, const Limits& limits,
                     std::span<const double> points) {
  Sampler sampler(limits);
  std::vector<Part> parts;
  for (const Range& part : cut(range, points)) parts.emplace_back(f, range, part);
  std::vector<Track> tracks;
  for (const Part& part : parts) tracks.push_back(Track::direct(part));
  return adaptive(sampler, tracks, tolerance, {});
}

}  // namespace tessera::quadrature
