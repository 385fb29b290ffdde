// SPDX-License-Identifier: Apache-2.0
#include "ops/integrate/rules/soft_window.hpp"
#include <algorithm>
#include <numbers>
#include "ops/integrate/rules/epsilon.hpp"
#include "ops/integrate/rules/kronrod_nodes.hpp"
#include "ops/integrate/rules/sensitivity.hpp"

namespace tessera::quadrature {
namespace {

// Two sums of the same values.
struct Sums {
  double plain = 0, windowed = 0;
  double plain_error = 0, windowed_error = 0;
  double magnitude = 0, variation = 0, squares = 0;
};

// Of a window that is `width` wide, at a distance in its second half.
double opening(double distance, double width) {
  constexpr double steepness = 6;  // erfc(6) is less than any sum notices
  return 0.5 * std::erfc(steepness * (4 * distance / width - 3));
}

class SoftWindows {
 public:
  SoftWindows(Sampler& sampler, double start, int direction, double swing, const Tolerance& tolerance)
      : sampler_(sampler), start_(start), direction_(direction), cell_(2 * swing), tolerance_(tolerance) {}

  Answer run(double first);

 private:
  bool add_cell(double from, double to, double width, Sums& sums);
  bool block(double from, double to, Sums& sums);
  bool add_window(double from, double width);
  bool shrinks() const;
  bool fades() const;
  double uncertainty() const;

  Sampler& sampler_;
  double start_;
  int direction_;
  double cell_;  // as wide: a period at first
  Tolerance tolerance_;
  Answer out_;
  Epsilon limit_;
  double plain_ = 0, variation_ = 0, squares_ = 0, error_ = 0;
  std::vector<double> sums_, sizes_, limits_;  // through each window; the mean |f| in its second half
};

bool SoftWindows::add_cell(double from, double to, double width, Sums& sums) {
  constexpr std::size_t half = 11, count = 2 * half - 1;
  double x[count], y[count], through[count];
  const double middle = 0.5 * (from + to), radius = 0.5 * (to - from);
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t k = std::min(i, count - 1 - i);
    const double distance = middle + (i < half ? -radius : radius) * kronrod21.x[k];
    x[i] = start_ + direction_ * distance;
    through[i] = opening(distance, width);
  }
  if (!sampler_(x, y)) return false;
  double kronrod[2] = {0, 0}, gauss[2] = {0, 0};
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t k = std::min(i, count - 1 - i);
    const double term[2] = {y[i], y[i] * through[i]};
    for (const int j : {0, 1}) {
      kronrod[j] += kronrod21.kronrod[k] * term[j];
      if (k % 2 == 1) gauss[j] += kronrod21.gauss[k / 2] * term[j];
    }
    sums.magnitude += radius * kronrod21.kronrod[k] * std::fabs(y[i]);
    if (i == 0) continue;
    const double moved = std::fabs(y[i] - y[i - 1]) * std::fmin(std::fabs(x[i]), std::fabs(x[i - 1]));
    sums.variation += moved;
    sums.squares += moved * moved;
  }
  sums.plain += radius * kronrod[0];
  sums.windowed += radius * kronrod[1];
  sums.plain_error += radius * std::fabs(kronrod[0] - gauss[0]);
  sums.windowed_error += radius * std::fabs(kronrod[1] - gauss[1]);
  return std::isfinite(sums.plain);
}

// False: neither the cells nor their halves do.
bool SoftWindows::block(double from, double to, Sums& sums) {
  constexpr int halvings = 3;
  for (int k = 0; k < halvings; ++k) {
    const double cells = std::ceil((to - from) / cell_);
    sums = {};
    for (double i = 0; i < cells; ++i)
      if (!add_cell(from + (to - from) * i / cells, from + (to - from) * (i + 1) / cells, to, sums))
        return false;
    const double allowed = tolerance_.of(out_.magnitude + sums.magnitude) / 64;
    if (sums.plain_error + sums.windowed_error <= std::fmax(allowed, 16 * unit * sums.magnitude)) return true;
    cell_ /= 2;  // further out, too
  }
  return false;
}

// What lies before it is known.
bool SoftWindows::add_window(double from, double width) {
  Sums sums;
  if (!block(from, width, sums)) return false;
  sums_.push_back(plain_ + sums.windowed);
  sizes_.push_back(sums.magnitude / (width - from));
  limit_.add(sums_.back());
  limits_.push_back(limit_.limit());
  plain_ += sums.plain;
  error_ += sums.plain_error + sums.windowed_error;
  out_.magnitude += sums.magnitude;
  variation_ += sums.variation;
  squares_ += sums.squares;
  return true;
}

// Swings that stay have sums through soft windows, too.
bool SoftWindows::shrinks() const {
  constexpr double less = 0.97;
  const std::size_t n = sizes_.size();
  return n < 3 || (sizes_[n - 1] < less * sizes_[n - 2] && sizes_[n - 2] < less * sizes_[n - 3]);
}

// So have some means that have no integral.
bool SoftWindows::fades() const {
  constexpr double drift = 0.04, rest = 1e-13;
  const std::size_t n = sums_.size();
  const double d0 = sums_[n - 3] - sums_[n - 4], d1 = sums_[n - 2] - sums_[n - 3],
               d2 = sums_[n - 1] - sums_[n - 2];
  if (std::fmax(std::fabs(d1), std::fabs(d2)) <= rest * out_.magnitude) return true;
  // By powers of the width: a power of its logarithm falls ever less.
  const double before = std::log(d0 / d1), now = std::log(d1 / d2);
  return before > 0 && now > 0 && now > (1 - drift) * before;
}

// The epsilon algorithm's own estimate looks back by two limits, each of which is worse by orders of
// magnitude.
double SoftWindows::uncertainty() const {
  constexpr double gained = 0.01;
  const std::size_t n = limits_.size();
  return std::fmax(std::fabs(limits_[n - 1] - limits_[n - 2]),
                   gained * std::fabs(limits_[n - 2] - limits_[n - 3])) +
         4 * unit * out_.magnitude;
}

Answer SoftWindows::run(double first) {
  constexpr std::size_t fewest = 6, most = 10;
  out_.rule = "epsilon";
  out_.reason = Reason::unresolved;
  Sums head;
  if (!block(0, first / 2, head)) return out_;
  plain_ = head.plain;
  error_ = head.plain_error;
  out_.magnitude = head.magnitude;
  double width = first;
  for (bool enough = false; !enough && sums_.size() < most; width *= 2) {
    if (!add_window(width / 2, width) || !shrinks()) return out_;
    enough = sums_.size() >= fewest && uncertainty() <= tolerance_.of(out_.magnitude) / 16;
  }
  out_.value = limit_.limit();
  out_.truncation = uncertainty() + error_;
  out_.rounding = 16 * unit * out_.magnitude + unit * spoiled(variation_, squares_);
  out_.evaluations = sampler_.evaluations();
  if (fades() && out_.error() <= tolerance_.of(out_.magnitude)) out_.reason = Reason::converged;
  return out_;
}

}  // namespace

double swing_length(Sampler& sampler, double from, int direction) {
  constexpr std::size_t points = 257, fewest = 16, most = 100;
  constexpr double nearest = 1e-3, furthest = 1e7, told = 1e-10;
  double x[points], y[points];
  for (double length = nearest; length < furthest; length *= 2) {
    for (std::size_t i = 0; i < points; ++i)
      x[i] = from + direction * length * static_cast<double>(i + 1) / static_cast<double>(points);
    if (!sampler(x, y)) return nothing;
    double largest = 0, before = 0;
    for (const double value : y) largest = std::fmax(largest, std::fabs(value));
    std::size_t turns = 0;
    for (std::size_t i = points / 2; i < points; ++i) {  // what lies before may be of another kind
      const double step = y[i] - y[i - 1];
      if (!(std::fabs(step) > told * std::fabs(y[i]))) continue;
      if (before != 0 && (step < 0) != (before < 0)) ++turns;
      before = step;
    }
    if (turns > most || !std::isfinite(largest)) return nothing;
    if (turns >= fewest) return length / 2 / static_cast<double>(turns);
  }
  return nothing;
}

Answer behind_soft_windows(Sampler& sampler, double start, int direction, double first, double swing,
                           const Tolerance& tolerance) {
  return SoftWindows(sampler, start, direction, swing, tolerance).run(first);
}

}  // namespace tessera::quadrature
