// SPDX-License-Identifier: Apache-2.0
#include "ops/integrate/quadrature/scattered/box.hpp"
#include <algorithm>
#include <limits>
#include <thread>
#include "ops/integrate/quadrature/scattered/sobol.hpp"
#include "tessera/core/device/parallel.hpp"

namespace tessera::quadrature {
namespace {

// Returns a point beside x, with a different offset on each axis, because f may depend on x - y alone.
std::vector<double> beside(const std::vector<Axis>& axes, const std::vector<double>& x, double sign) {
  constexpr double near = 1e-7, golden = 0.6180339887498949;
  std::vector<double> out = x;
  for (std::size_t axis = 0; axis < axes.size(); ++axis) {
    const Range& range = axes[axis].range;
    const double length = range.finite() ? range.upper - range.lower : std::fmax(1, std::fabs(x[axis]));
    const double turn = golden * static_cast<double>(axis);
    const double step = sign * near * length * (1 + turn - std::floor(turn));
    const bool inside = range.lower < x[axis] + step && x[axis] + step < range.upper;
    out[axis] += inside ? step : -step;
  }
  return out;
}

}  // namespace

void Axis::map(double u, double& x, double& slope) const {
  if (range.finite()) {
    x = range.lower + (range.upper - range.lower) * u;
    slope = range.upper - range.lower;
  } else if (std::isfinite(range.lower) || std::isfinite(range.upper)) {
    const double away = u / (1 - u);
    x = std::isfinite(range.lower) ? range.lower + away : range.upper - away;
    slope = 1 / ((1 - u) * (1 - u));
  } else {
    const double t = 2 * u - 1, square = (1 - t) * (1 + t);
    x = t / square;
    slope = 2 * (1 + t * t) / (square * square);
  }
}

double Axis::inverse(double x) const {
  if (range.finite()) return (x - range.lower) / (range.upper - range.lower);
  if (std::isfinite(range.lower)) return (x - range.lower) / (1 + (x - range.lower));
  if (std::isfinite(range.upper)) return (range.upper - x) / (1 + (range.upper - x));
  return 0.5 + x / (1 + std::sqrt(1 + 4 * x * x));
}

UnitCube::UnitCube(BatchIntegrand f, const Box& box, const Limits& limits)
    : f_(std::move(f)), limits_(limits), start_(std::chrono::steady_clock::now()) {
  for (std::size_t axis = 0; axis < box.axes.size(); ++axis) {
    axes_.push_back({box.axes[axis]});
    std::vector<double> edges{0, 1};
    if (axis < box.breaks.size())
      for (const double x : box.breaks[axis])
        if (box.axes[axis].lower < x && x < box.axes[axis].upper) edges.push_back(axes_.back().inverse(x));
    std::sort(edges.begin(), edges.end());
    edges.erase(
        std::unique(edges.begin(), edges.end(), [](double a, double b) { return b - a <= 64 * unit; }),
        edges.end());
    edges.back() = 1;
    edges_.push_back(std::move(edges));
  }
}

void UnitCube::values(std::span<const double> u, std::size_t count, std::span<double> y, bool placed) const {
  thread_local std::vector<double> x, weight;
  double everywhere = 1;
  bool varies = false, same = placed;
  for (const Axis& axis : axes_) same = same && axis.linear();
  if (!same && x.size() < u.size()) x.resize(u.size());
  for (std::size_t k = 0; k < axes_.size(); ++k) {
    const double* const from = &u[k * count];
    const Axis& axis = axes_[k];
    if (axis.linear()) {
      const double lower = axis.range.lower, length = axis.range.upper - axis.range.lower;
      everywhere *= length;
      if (same) continue;
      for (std::size_t i = 0; i < count; ++i) x[k * count + i] = placed ? from[i] : lower + length * from[i];
      continue;
    }
    if (!varies) weight.assign(count, 1.0);
    varies = true;
    for (std::size_t i = 0; i < count; ++i) {
      double slope = 0;
      axis.map(from[i], x[k * count + i], slope);
      weight[i] *= slope;
    }
  }
  const std::span<const double> points = same ? u : std::span<const double>(x).first(u.size());
  evaluate(points, count, y, evaluations_);
  std::int64_t holes = 0;
  std::vector<double> at;
  for (std::size_t i = 0; i < count; ++i) {
    const double factor = varies ? weight[i] * everywhere : everywhere, value = y[i];
    y[i] *= factor;
    if (y[i] - y[i] == 0) continue;
    ++holes;
    y[i] = 0;
    if (undefined_) continue;
    if (varies && std::isfinite(value)) continue;  // only dx/du has overflowed, at the far end
    at.resize(axes_.size());
    for (std::size_t k = 0; k < axes_.size(); ++k) at[k] = points[k * count + i];
    double found = value;
    if (std::isfinite(value) || !find_value(at, found)) note_gap(at, value, false);
    else if (std::isfinite(found * factor)) y[i] = found * factor;
  }
  if (holes > 0) holes_.fetch_add(holes, std::memory_order_relaxed);
}

// Evaluates f; all evaluations pass through here.
void UnitCube::evaluate(std::span<const double> points, std::size_t count, std::span<double> y,
                        std::atomic<std::int64_t>& counted) const {
  const auto more = static_cast<std::int64_t>(count);
  if (exhausted()) throw CapReached{};
  counted += more;
  const std::int64_t further_looks = std::max<std::int64_t>(0, looks_ - free_looks);
  if (evaluations_ + further_looks > limits_.evaluations || !(seconds_left() > 0)) {
    counted -= more;
    reached_ = seconds_left() > 0 ? Reason::evaluations : Reason::time;
    throw CapReached{};
  }
  f_(points, count, y);
}

double UnitCube::value_at(const std::vector<double>& x) const {
  double y = 0;
  evaluate(x, 1, {&y, 1}, looks_);
  return y;
}

// True if x lies far out, and f vanishes on the way to x before it loses its value.
bool UnitCube::faded(const std::vector<double>& x) const {
  constexpr double far = 10, very_far = 1e4, nothing_left = 1e-30;
  std::vector<double> point = x;
  double outermost = nan, largest = 0;
  for (;;) {
    bool far_out = false;
    for (std::size_t axis = 0; axis < axes_.size(); ++axis) {
      const Range& range = axes_[axis].range;
      if (range.finite()) continue;
      const double base = std::isfinite(range.lower)   ? range.lower
                          : std::isfinite(range.upper) ? range.upper
                                                       : 0;
      const double away = std::fmin(std::fabs(point[axis] - base), std::numeric_limits<double>::max());
      far_out = far_out || away > far;
      point[axis] = base + std::copysign(away > very_far ? std::sqrt(away) * std::sqrt(far) : away / 2,
                                         point[axis] - base);
    }
    if (!far_out) return std::fabs(outermost) <= nothing_left * largest;
    const double y = value_at(point);
    if (!std::isfinite(y)) continue;
    if (std::isnan(outermost)) outermost = y;
    largest = std::fmax(largest, std::fabs(y));
  }
}

// Finds a replacement for a value that is not finite; false: f has no value around x either.
bool UnitCube::find_value(const std::vector<double>& x, double& y) const {
  for (const double sign : {-1.0, 1.0}) {
    const double other = value_at(beside(axes_, x, sign));
    if (!std::isfinite(other)) continue;
    y = std::isnan(y) ? other : 0;
    return true;
  }
  y = 0;
  return faded(x);
}

// Records a point without a value. An infinite one on an infinite range may mean that the integral diverges.
void UnitCube::note_gap(const std::vector<double>& x, double value, bool first) const {
  const std::lock_guard lock(noting_);
  undefined_ = true;
  if (gap_reason_ == Reason::too_large || (!first && !gap_.empty() && !(x < gap_))) return;
  gap_ = x;
  const bool endless = std::ranges::any_of(axes_, [](const Axis& axis) { return !axis.linear(); });
  gap_reason_ = std::isnan(value)      ? Reason::non_finite
                : endless              ? Reason::may_diverge
                : std::isfinite(value) ? Reason::too_large
                                       : Reason::non_finite;
}

void UnitCube::look_for_holes() const {
  constexpr std::uint32_t count = 4096;
  if (looked_.exchange(true)) return;
  std::vector<double> x(axes_.size());
  double slope = 0;
  within_caps([&] {
    for (std::uint32_t i = 0; i < count; ++i) {
      for (std::size_t k = 0; k < axes_.size(); ++k)
        axes_[k].map(sobol(i, static_cast<int>(k) % max_sobol_dimensions, 77 + k / max_sobol_dimensions),
                     x[k], slope);
      const double value = value_at(x);
      double found = value;
      if (!std::isfinite(value) && !find_value(x, found)) return note_gap(x, value, true);
    }
  });
}

void UnitCube::judge(Answer& answer) const {
  const bool capped = exhausted();
  if (holes_ > 0) look_for_holes();
  if (undefined_) {
    answer.value = nan;
    answer.truncation = infinity;
    const std::lock_guard lock(noting_);
    answer.reason = gap_reason_;
    if (gap_reason_ != Reason::too_large) answer.place = gap_;
  } else if (exhausted() && !capped) {
    answer.reason = cap();
  }
  answer.evaluations = evaluations_;
}

double UnitCube::seconds_left() const {
  return limits_.seconds - std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
}

bool UnitCube::allows(std::int64_t more) const {
  return !exhausted() && evaluations_ + more <= limits_.evaluations && seconds_left() > 0;
}

void share_parts(int threads, std::size_t parts, const std::function<void(std::size_t)>& work) {
  if (parts == 0) return;
  if (threads <= 0) threads = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  std::atomic<std::size_t> next{0};
  parallel(static_cast<int>(std::min<std::size_t>(static_cast<std::size_t>(threads), parts)), [&](int) {
    for (std::size_t k = next++; k < parts; k = next++) work(k);
  });
}

}  // namespace tessera::quadrature
