// SPDX-License-Identifier: Apache-2.0
#include "ops/integrate/quadrature/box.hpp"
#include <algorithm>
#include <thread>
#include "ops/integrate/quadrature/sobol.hpp"
#include "tessera/core/parallel.hpp"

namespace tessera::quadrature {
namespace {

double value_at(const BatchIntegrand& f, const std::vector<double>& x) {
  double y = 0;
  f(x, 1, {&y, 1});
  return y;
}

// Beside x, by another distance on each axis: f may depend on x - y alone.
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

// Whether x lies far out, and f, on the way there, has faded before it loses its value.
bool faded(const BatchIntegrand& f, const std::vector<Axis>& axes, const std::vector<double>& x) {
  constexpr double far = 10, nothing_left = 1e-30;
  std::vector<double> there = x;
  for (;;) {
    bool far_out = false;
    for (std::size_t axis = 0; axis < axes.size(); ++axis) {
      const Range& range = axes[axis].range;
      if (range.finite()) continue;
      const double base = std::isfinite(range.lower)   ? range.lower
                          : std::isfinite(range.upper) ? range.upper
                                                       : 0;
      far_out = far_out || std::fabs(there[axis] - base) > far;
      there[axis] = base + (there[axis] - base) / 2;
    }
    if (!far_out) return false;
    const double y = value_at(f, there);
    if (std::isfinite(y)) return std::fabs(y) <= nothing_left;
  }
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
  f_(points, count, y);
  std::int64_t holes = 0;
  std::vector<double> at;
  for (std::size_t i = 0; i < count; ++i) {
    const double factor = varies ? weight[i] * everywhere : everywhere, value = y[i];
    y[i] *= factor;
    if (y[i] - y[i] == 0) continue;
    ++holes;
    y[i] = 0;
    if (undefined_) continue;
    if (std::isfinite(value)) {  // at the far end of a map, or the product is beyond the largest number
      if (!varies) undefined_ = too_large_ = true;
      continue;
    }
    at.resize(axes_.size());
    for (std::size_t k = 0; k < axes_.size(); ++k) at[k] = points[k * count + i];
    double found = value;
    if (!find_value(at, found)) note_gap(at, false);
    else if (std::isfinite(found * factor)) y[i] = found * factor;
  }
  if (holes > 0) holes_.fetch_add(holes, std::memory_order_relaxed);
}

// The value that stands for one that is not finite; false: there is none around x either.
bool UnitCube::find_value(const std::vector<double>& x, double& y) const {
  for (const double sign : {-1.0, 1.0}) {
    const double other = value_at(f_, beside(axes_, x, sign));
    if (!std::isfinite(other)) continue;
    y = std::isnan(y) ? other : 0;
    return true;
  }
  y = 0;
  return faded(f_, axes_, x);
}

void UnitCube::note_gap(const std::vector<double>& x, bool first) const {
  const std::lock_guard lock(noting_);
  if (first || gap_.empty() || x < gap_) gap_ = x;
  undefined_ = true;
}

void UnitCube::look_for_holes() const {
  constexpr std::uint32_t count = 4096;
  if (looked_.exchange(true)) return;
  std::vector<double> x(axes_.size());
  double slope = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    for (std::size_t k = 0; k < axes_.size(); ++k)
      axes_[k].map(sobol(i, static_cast<int>(k) % most_sobol_dimensions, 77 + k / most_sobol_dimensions),
                   x[k], slope);
    double y = value_at(f_, x);
    if (!std::isfinite(y) && !find_value(x, y)) return note_gap(x, true);
  }
}

void UnitCube::judge(Answer& answer) const {
  if (holes_ > 0) look_for_holes();
  if (!undefined_) return;
  answer.value = nothing;
  answer.truncation = infinity;
  answer.reason = too_large_ ? Reason::too_large : Reason::non_finite;
  const std::lock_guard lock(noting_);
  if (!too_large_) answer.place = gap_;
}

double UnitCube::seconds_left() const {
  return limits_.seconds - std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
}

bool UnitCube::allows(std::int64_t more) const {
  return evaluations_ + more <= limits_.evaluations && seconds_left() > 0;
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
