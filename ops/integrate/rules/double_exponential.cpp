// SPDX-License-Identifier: Apache-2.0
#include "ops/integrate/rules/double_exponential.hpp"
#include <algorithm>
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

}  // namespace

DoubleExponential::DoubleExponential(Sampler& sampler, const Piece& piece, int levels)
    : sampler_(sampler), variable_(piece, sampler.range()), levels_(std::min(levels, deepest_level)) {
  if (sampler.integrand().in_double)
    for (const int side : {0, 1}) see_between_numbers(side);
  first_pass();
}

bool DoubleExponential::blind_matters(int side) const {
  return !(sampler_.integrand().knows[side] && variable_.is_end(side)) && variable_.blind(side) > 0 &&
         !variable_.stays_inside(side);
}

double DoubleExponential::rounding() const {
  // Weights and distances are off by some units themselves, and sums by one for each addition of a lane.
  return 16 * unit * magnitude() + unit * (spoiled(variation_, squares_) + hidden_) + unseen_[0] + unseen_[1];
}

void DoubleExponential::gather(First& first) const {
  std::size_t count = 0;
  const double length = variable_.length();
  for (int side = 0; side < 2; ++side) {
    const Nodes& nodes = ladder(variable_.shape(), side)[0];
    const double blind = blind_matters(side) ? variable_.blind(side) / length : 0;
    const std::size_t from = first.from[side] = count;
    std::size_t size = nodes.distance.size();
    while (size > 0 && !(nodes.distance[size - 1] > blind)) --size;
    while (first_step * static_cast<double>(size) > variable_.reach(side)) --size;
    for (std::size_t j = 0; j < size; ++j) {
      first.distance[from + j] = nodes.distance[j];
      first.own[from + j] = nodes.distance[j] * length;
      first.weight[from + j] = nodes.weight[j] * length;
    }
    first.size[side] = size;
    count += size;
    variable_.place(side, {first.distance + from, size}, {first.x + from, size});
    if (side == 1) continue;
    // Next to the points that are told like it: they are computed in one go.
    first.middle = count;
    first.distance[count] = middle_distance(variable_.shape());
    first.weight[count] = middle_weight(variable_.shape()) * length;
    variable_.place(0, {first.distance + count, 1}, {first.x + count, 1});
    first.own[count] = std::fabs(first.x[count]);
    ++count;
  }
  first.all = count;
}

void DoubleExponential::first_pass() {
  First first;
  gather(first);
  const std::size_t all = first.all;
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
  double sum = first.term[first.middle], coarse = sum, magnitude = 0;  // coarse: with every second point
  for (std::size_t i = 0; i < all; ++i)
    if (std::isfinite(first.term[i])) magnitude += std::fabs(first.term[i]);
  sum_abs_ += magnitude;
  for (int side = 0; side < 2; ++side) {
    vary(side, first);
    settle(side, first);
    const double* term = first.term + first.from[side];
    for (std::size_t j = 0; j < first.size[side] && first_step * double(j + 1) <= cut_[side]; ++j)
      if (std::isfinite(term[j])) {
        sum += term[j];
        if (j % 2 == 1) coarse += term[j];
      }
  }
  sum_ = sum;
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
  double variation = variation_, squares = squares_;
  for (std::size_t i = first.from[side], before = first.middle; i < end; before = i++) {
    const double here = std::fabs(place[i]), there = std::fabs(place[before]);
    const double moved = std::fabs(first.y[i] - first.y[before]) * (here < there ? here : there);
    if (!(moved < infinity)) break;
    variation += moved;
    squares += moved * moved;
  }
  variation_ = variation;
  squares_ = squares;
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
  // No point lies further out than that.
  cut_[side] = last == size ? most(side) : first_step * double(to_the_end ? last : last + 1);
  if (to_the_end && last > 1) find_beyond(side, first, last - 1);
  if (!to_the_end && blind_matters(side) && !narrow_[side]) beyond_[side] = at_the_top(side);
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
