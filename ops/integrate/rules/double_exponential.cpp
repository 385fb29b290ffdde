// SPDX-License-Identifier: Apache-2.0
#include "ops/integrate/rules/double_exponential.hpp"
#include <algorithm>
#include "ops/integrate/rules/fading.hpp"
#include "ops/integrate/rules/sensitivity.hpp"
#include <numbers>

namespace tessera::quadrature {
namespace {

constexpr std::size_t chunk = 256;
constexpr double negligible = 1e-2 * unit;  // of the integral of |f|: a term that no sum would notice

struct Sums {
  double value = 0, magnitude = 0;
};

// Four sums side by side: one long chain of additions would wait for each.
Sums weigh(std::span<const double> weight, std::span<const double> y) {
  double s[4] = {0, 0, 0, 0}, a[4] = {0, 0, 0, 0};
  std::size_t i = 0;
  for (; i + 4 <= y.size(); i += 4)
    for (std::size_t lane = 0; lane < 4; ++lane) {
      const double term = weight[i + lane] * y[i + lane];
      s[lane] += term;
      a[lane] += std::fabs(term);
    }
  for (; i < y.size(); ++i) {
    s[0] += weight[i] * y[i];
    a[0] += std::fabs(weight[i] * y[i]);
  }
  return {(s[0] + s[1]) + (s[2] + s[3]), (a[0] + a[1]) + (a[2] + a[3])};
}

// Whether f changes its sign again and again up to the outermost point, or near it. Once, further in, is a
// zero.
bool swings(std::span<const double> y, bool outwards) {
  constexpr std::size_t near = 4;
  std::size_t changes = 0;
  for (std::size_t i = 1; i < y.size(); ++i)
    if ((y[i] < 0) != (y[i - 1] < 0)) {
      if (outwards || i + near > y.size()) return true;
      ++changes;
    }
  return changes > 1;
}

double largest(std::span<const double> y) {
  double out = 0;
  for (const double value : y) out = std::fmax(out, std::fabs(value));
  return out;
}

}  // namespace

DoubleExponential::DoubleExponential(Sampler& sampler, const Piece& piece, int levels)
    : sampler_(sampler), variable_(piece, sampler.range()), levels_(std::min(levels, deepest_level)) {
  first_pass();
}

bool DoubleExponential::blind_matters(int side) const {
  return !(sampler_.integrand().knows[side] && variable_.is_end(side)) && variable_.blind(side) > 0 &&
         !variable_.stays_inside(side);
}

double DoubleExponential::rounding() const {
  // Weights and distances are off by some units themselves, and sums by one for each addition of a lane.
  return 16 * unit * magnitude() + unit * (spoiled(variation_, squares_) + hidden_);
}

// Both sides at the first step, one behind the other, and the middle last.
struct DoubleExponential::First {
  static constexpr std::size_t most = 64;
  double x[most], distance[most], weight[most], y[most], term[most];
  double own[most];  // the distance to the piece's end, not the range's
  std::size_t from[2], size[2], middle;
};

void DoubleExponential::gather(First& first) const {
  std::size_t count = 0;
  const double length = variable_.length();
  for (int side = 0; side < 2; ++side) {
    const Nodes& nodes = ladder(variable_.shape(), side)[0];
    const double blind = blind_matters(side) ? variable_.blind(side) / length : 0;
    const std::size_t from = first.from[side] = count;
    std::size_t size = nodes.distance.size();
    while (size > 0 && !(nodes.distance[size - 1] > blind)) --size;
    for (std::size_t j = 0; j < size; ++j) {
      first.distance[from + j] = nodes.distance[j];
      first.own[from + j] = nodes.distance[j] * length;
      first.weight[from + j] = nodes.weight[j] * length;
    }
    first.size[side] = size;
    count += size;
    variable_.place(side, {first.distance + from, size}, {first.x + from, size});
  }
  first.middle = count;
  first.distance[count] = middle_distance(variable_.shape());
  first.weight[count] = middle_weight(variable_.shape()) * length;
  variable_.place(0, {first.distance + count, 1}, {first.x + count, 1});
  first.own[count] = std::fabs(first.x[count]);
}

void DoubleExponential::first_pass() {
  First first;
  gather(first);
  const std::size_t all = first.middle + 1;
  if (!sampler_({first.x, all}, {first.distance, all}, {first.y, all})) {
    trouble_ = sampler_.cap();
    return;
  }
  if (!std::isfinite(first.y[first.middle])) {
    trouble_ = Reason::non_finite;
    where_ = first.x[first.middle];
    return;
  }
  for (std::size_t i = 0; i < all; ++i) first.term[i] = first.weight[i] * first.y[i];
  for (std::size_t i = 0; i < all; ++i)
    if (std::isfinite(first.term[i])) sum_abs_ += std::fabs(first.term[i]);
  sum_ = first.term[first.middle];
  double coarse = sum_;  // with every second point
  for (int side = 0; side < 2; ++side) {
    vary(side, first);
    settle(side, first);
    const double* term = first.term + first.from[side];
    for (std::size_t j = 0; j < first.size[side] && first_step * double(j + 1) <= cut_[side]; ++j)
      if (std::isfinite(term[j])) {
        sum_ += term[j];
        if (j % 2 == 1) coarse += term[j];
      }
  }
  change_ = std::fabs(step_ * sum_ - 2 * step_ * coarse);
  if (again_) {
    again_ = false;
    sum_ = sum_abs_ = variation_ = squares_ = 0;
    beyond_[0] = beyond_[1] = 0;
    first_pass();
  }
}

// What f does from point to point, against the rounding of the points.
void DoubleExponential::vary(int side, const First& first) {
  const bool exact = sampler_.integrand().knows[side] && variable_.is_end(side);
  const double* place = exact ? first.own : first.x;
  const std::size_t end = first.from[side] + first.size[side];
  for (std::size_t i = first.from[side], before = first.middle; i < end; before = i++) {
    const double here = std::fabs(place[i]), there = std::fabs(place[before]);
    const double moved = std::fabs(first.y[i] - first.y[before]) * (here < there ? here : there);
    if (!(moved < infinity)) return;
    variation_ += moved;
    squares_ += moved * moved;
  }
}

void DoubleExponential::vary(int side, std::span<const double> x, std::span<const double> distance,
                             std::span<const double> y) {
  if (x.size() < 2) return;
  const std::size_t steps = x.size() - 1;
  const double* place =
      sampler_.integrand().knows[side] && variable_.is_end(side) ? distance.data() : x.data();
  double moved[chunk];
  for (std::size_t i = 0; i < steps; ++i) {
    const double here = std::fabs(place[i + 1]), there = std::fabs(place[i]);
    moved[i] = std::fabs(y[i + 1] - y[i]) * (here < there ? here : there);
  }
  const Sums sums = weigh({moved, steps}, {moved, steps});
  next_squares_ += sums.value;
  double lanes[4] = {0, 0, 0, 0};
  for (std::size_t i = 0; i < steps; ++i) lanes[i % 4] += moved[i];
  next_variation_ += (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]);
}

// Finds how far out a side counts.
void DoubleExponential::settle(int side, const First& first) {
  const double* term = first.term + first.from[side];
  const std::size_t size = first.size[side];
  const auto counts = [&](std::size_t j) {
    return std::isfinite(term[j]) && std::fabs(term[j]) > negligible * sum_abs_;
  };
  std::size_t last = size;  // one past the outermost term that counts
  while (last > 0 && !counts(last - 1)) --last;
  for (std::size_t j = 0; j + 1 < last; ++j)
    if (!std::isfinite(term[j])) {
      trouble_ = Reason::non_finite;
      where_ = first.x[first.from[side] + j];
      return;
    }
  const bool to_the_end = last == size || !std::isfinite(term[last]);
  const double reach = most(side);
  if (last == size) cut_[side] = reach;
  else cut_[side] = std::min(reach, first_step * double(to_the_end ? last : last + 1));
  if (to_the_end && last > 1) find_beyond(side, first, last - 1);
  if (!to_the_end && blind_matters(side)) beyond_[side] = at_the_top(side);
}

// Where f is the same at the numbers before the end of a piece, nothing is hidden between them: points may
// lie there, too. Asked only where that much is at stake.
bool DoubleExponential::see_to_the_end(int side, double height) {
  if (sampler_.range().single()) return false;  // its numbers are not these
  if (!(variable_.blind(side) * height > 1e-13 * first_step * sum_abs_)) return false;
  constexpr int steps = 8;
  const double end = end_of(side), inwards = side == 0 ? infinity : -infinity;
  double x[steps + 2], y[steps + 2];
  x[0] = std::nextafter(end, -inwards);
  x[1] = end;
  for (int i = 2; i < steps + 2; ++i) x[i] = std::nextafter(x[i - 1], inwards);
  const bool limit = variable_.is_end(side);
  if (limit) x[0] = end;
  if (!sampler_({x, steps + 2}, {y, steps + 2})) return false;
  const auto differs = [&](double value) { return !(std::fabs(value - height) <= 1e-3 * height); };
  for (int i = 2; i < steps + 2; ++i)
    if (differs(std::fabs(y[i]))) return false;
  // A jump lies between two numbers, nobody knows where.
  if (!limit && (differs(std::fabs(y[0])) || differs(std::fabs(y[1]))))
    hidden_ += 2 * height * std::fabs(end);
  variable_.stay_inside(side);
  return again_ = true;
}

// Whether the integrand tells that no digit of a value is right.
bool DoubleExponential::is_noise(double x, double distance, double y) const {
  const Integrand& f = sampler_.integrand();
  if (!f.errors) return false;
  double error = 0;
  f.errors({&x, 1}, {&distance, 1}, {&error, 1});
  return !(error < std::fabs(y) / 4);
}

// The |t| where x is no longer told from the end.
double DoubleExponential::blind_reach(int side) const {
  const double ratio = variable_.blind(side) / variable_.length();
  if (!(ratio < 0.25)) return first_step;
  const double u =
      -std::log(ratio) / (variable_.shape() == Shape::between ? std::numbers::pi : std::numbers::pi / 2);
  return std::min(variable_.reach(), std::asinh(u));
}

// What a peak at the end brings that is so narrow that no point is told from its top; 0 where it has none.
double DoubleExponential::at_the_top(int side) {
  const double top = std::fabs(sampler_.at(end_of(side)));
  return std::isfinite(top) ? 2 * top * variable_.blind(side) : 0;
}

// Beyond the outermost point f goes on as the power of the distance that the last points show.
void DoubleExponential::find_beyond(int side, const First& first, std::size_t last) {
  const double* const distance = first.own + first.from[side];
  const double* const y = first.y + first.from[side];
  const double d1 = std::fabs(distance[last]), d0 = std::fabs(distance[last - 1]);
  const double f1 = std::fabs(y[last]), f0 = std::fabs(y[last - 1]);
  const bool outwards = d1 > d0, blind = blind_matters(side);
  if (blind && (f1 == 0 || f0 == 0)) beyond_[side] = std::fmax(at_the_top(side), 2 * f1 * d1);
  if (f1 == 0 || f0 == 0) return;
  if (swings({y + last / 2, last + 1 - last / 2}, outwards)) {
    // Its power says nothing. If it does not grow towards the end, no more than its size is left there.
    const double size = largest({y + last / 2, last - 1 - last / 2});
    if (!outwards && std::fmax(f1, f0) <= 4 * size) {
      beyond_[side] = 4 * size * (blind ? std::fmin(d1, variable_.blind(side)) : d1);
      return;
    }
    trouble_ = Reason::unresolved;
    where_ = outwards ? (side == 0 ? -infinity : infinity) : end_of(side);
    beyond_[side] = infinity;
    return;
  }
  const double power = std::log(f1 / f0) / std::log(d1 / d0);  // f ~ d^power
  exponent_[side] = -power;
  const double margin = outwards ? -(power + 1) : power + 1;  // > 0: integrable
  // One step may be a jump's, or rounding's: what grows like a power did so before.
  if (!outwards && margin < 0.2 && last >= 2 && std::fabs(y[last - 2]) >= f0) {
    beyond_[side] = 4 * std::fmax(f1, f0) * d1;
    return;
  }
  // A peak as narrow as f32 is blind grows like a power, too, but not on to the end.
  const double reach = variable_.blind(side);
  if (const double top = sampler_.range().single() && blind && margin < 4e-3 ? at_the_top(side) : 0;
      top > 0 && top <= 4 * reach * f1 * std::pow(std::fmax(1, d1 / reach), -power)) {
    beyond_[side] = top + 2 * f1 * d1;
    return;
  }
  if (margin < (blind ? 4e-3 : 1e-7)) {
    const std::size_t outermost = first.from[side] + last;
    trouble_ = is_noise(first.x[outermost], first.distance[outermost], y[last]) ? Reason::roundoff
               : blind && margin > -0.2                                         ? Reason::may_diverge
                                                                                : Reason::diverges;
    where_ = outwards ? (side == 0 ? -infinity : infinity) : end_of(side);
    beyond_[side] = infinity;
    return;
  }
  if (blind && std::fabs(power) < 0.05 && see_to_the_end(side, f1)) return;
  const double lasting = margin < 0.2 ? lasting_margin(side, first, last, margin) : margin;
  if (!(lasting > 0)) {
    trouble_ = Reason::may_diverge;
    where_ = outwards ? (side == 0 ? -infinity : infinity) : end_of(side);
    beyond_[side] = infinity;
    return;
  }
  const double missed = blind ? std::pow(std::fmin(1, variable_.blind(side) / d1), margin) : 1;
  beyond_[side] = (margin < 0.2 ? 4 : 1) * f1 * d1 * missed / lasting;
}

// The margin of a power that would leave as much as f does, which may fall as a power of the logarithm only.
double DoubleExponential::lasting_margin(int side, const First& first, std::size_t last,
                                         double margin) const {
  const double* const distance = first.own + first.from[side];
  const double* const y = first.y + first.from[side];
  const auto away = [&](std::size_t j) { return std::log(std::fabs(distance[j])); };
  std::size_t j = last - 1;  // where the logarithm is half of what it is at last
  while (j > 1 && std::fabs(away(j)) > std::fabs(away(last)) / 2) --j;
  const double step = away(j) - away(j - 1), power = std::log(std::fabs(y[j] / y[j - 1])) / step;
  if (!std::isfinite(power)) return margin;
  const double apart = std::fabs(away(last) + away(last - 1) - away(j) - away(j - 1)) / 2;
  return lasting_slope(step > 0 ? -(power + 1) : power + 1, margin, apart);
}

// Points from … from + count of this level on one side.
std::size_t DoubleExponential::prepare(int side, std::size_t from, std::size_t count, double* x,
                                       double* distance, double* weight) const {
  const Nodes& nodes = ladder(variable_.shape(), side)[static_cast<std::size_t>(level_)];
  for (std::size_t i = 0; i < count; ++i) {
    distance[i] = nodes.distance[from + i];
    weight[i] = nodes.weight[from + i] * variable_.length();
  }
  variable_.place(side, {distance, count}, {x, count});
  return count;
}

bool DoubleExponential::add(std::span<const double> x, std::span<const double> distance,
                            std::span<const double> weight, std::size_t first_side) {
  double y[chunk];
  const std::size_t n = x.size();
  if (!sampler_(x, distance, {y, n})) {
    trouble_ = sampler_.cap();
    return false;
  }
  const Sums sums = weigh(weight, {y, n});
  if (std::isfinite(sums.value)) {
    sum_ += sums.value;
    sum_abs_ += sums.magnitude;
    vary(0, x.first(first_side), distance.first(first_side), {y, first_side});
    vary(1, x.subspan(first_side), distance.subspan(first_side), {y + first_side, n - first_side});
    return true;
  }
  trouble_ = Reason::diverges;
  for (std::size_t i = 0; i < n; ++i)
    if (!std::isfinite(weight[i] * y[i])) {
      trouble_ = Reason::non_finite;
      where_ = x[i];
    }
  return false;
}

bool DoubleExponential::add_level(int side, std::size_t from, std::size_t count) {
  double x[chunk], distance[chunk], weight[chunk];
  for (std::size_t done = from; done < count; done += chunk) {
    const std::size_t n = prepare(side, done, std::min(chunk, count - done), x, distance, weight);
    if (!add({x, n}, {distance, n}, {weight, n}, side == 0 ? n : 0)) return false;
  }
  return true;
}

bool DoubleExponential::refine() {
  if (trouble_ != Reason::converged) return false;
  if (level_ >= levels_) return false;
  const double before = value();
  ++level_;
  next_variation_ = next_squares_ = 0;
  std::size_t count[2];
  for (int side = 0; side < 2; ++side) {
    const Nodes& nodes = ladder(variable_.shape(), side)[static_cast<std::size_t>(level_)];
    count[side] = std::min(
        nodes.distance.size(),
        static_cast<std::size_t>(std::ceil(std::ldexp(cut_[side] / (2 * first_step), level_) - 0.5)));
  }
  if (count[0] + count[1] <= chunk) {  // one call for both sides
    double x[chunk], distance[chunk], weight[chunk];
    const std::size_t n = prepare(0, 0, count[0], x, distance, weight);
    prepare(1, 0, count[1], x + n, distance + n, weight + n);
    const std::size_t all = count[0] + count[1];
    if (!add({x, all}, {distance, all}, {weight, all}, n)) return false;
  } else if (!add_level(0, 0, count[0]) || !add_level(1, 0, count[1])) {
    return false;
  }
  step_ /= 2;
  // The level before may have been too coarse to see f swing.
  if (next_variation_ < infinity && next_squares_ < infinity) {
    variation_ = std::fmax(variation_, next_variation_);
    squares_ = std::fmax(squares_, next_squares_);
  }
  change_before_ = change_;
  change_ = std::fabs(value() - before);
  return true;
}

}  // namespace tessera::quadrature
