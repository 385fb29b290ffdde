// SPDX-License-Identifier: Apache-2.0
// Points at which an integrand of several variables has no finite value. An infinite height at an end may be
// integrable, and 0/0 on a line takes nothing from the integral; but where f has no value in a whole part of
// the box there is no integral.
#include <algorithm>
#include <cmath>
#include "ops/integrate/rules/domain.hpp"
#include "ops/integrate/rules/sobol.hpp"

namespace tessera::quadrature {
namespace {

double value_at(const ManyValues& f, const std::vector<double>& x) {
  double y = 0;
  f(x, 1, {&y, 1});
  return y;
}

// Nearer by `factor` along the axes without an end.
std::vector<double> drawn_in(const std::vector<Axis>& axes, std::span<const double> x, double factor) {
  std::vector<double> out(x.begin(), x.end());
  for (std::size_t axis = 0; axis < axes.size(); ++axis) {
    const Range& range = axes[axis].range;
    if (range.finite()) continue;
    const double base = std::isfinite(range.lower)   ? range.lower
                        : std::isfinite(range.upper) ? range.upper
                                                     : 0;
    out[axis] = base + (out[axis] - base) * factor;
  }
  return out;
}

bool far_out(const std::vector<Axis>& axes, std::span<const double> x) {
  constexpr double far = 100;
  for (std::size_t axis = 0; axis < axes.size(); ++axis)
    if (!axes[axis].range.finite() && std::fabs(x[axis]) > far) return true;
  return false;
}

// Whether f has faded where its values end.
bool faded(const ManyValues& f, const std::vector<Axis>& axes, std::span<const double> x) {
  constexpr double nothing_left = 1e-200;
  double inside = 1, outside = 1, last = nothing;
  for (int i = 0; i < 1100 && std::isnan(last); ++i) {
    outside = inside;
    inside /= 2;
    const std::vector<double> there = drawn_in(axes, x, inside);
    if (!far_out(axes, there)) break;
    last = value_at(f, there);
  }
  if (std::isnan(last)) return false;
  for (int i = 0; i < 40; ++i) {
    const double middle = (inside + outside) / 2, y = value_at(f, drawn_in(axes, x, middle));
    (std::isnan(y) ? outside : inside) = middle;
    if (!std::isnan(y)) last = y;
  }
  return std::fabs(last) <= nothing_left;
}

}  // namespace

bool in_a_gap(const ManyValues& f, const std::vector<Axis>& axes, std::span<const double> x) {
  constexpr double near = 1e-7, golden = 0.6180339887498949;
  if (far_out(axes, x) && faded(f, axes, x)) return false;
  for (const double sign : {-1.0, 1.0}) {
    std::vector<double> there(x.begin(), x.end());
    for (std::size_t axis = 0; axis < axes.size(); ++axis) {
      const Range& range = axes[axis].range;
      const double length = range.finite() ? range.upper - range.lower : std::fmax(1, std::fabs(x[axis]));
      const double turn = golden * static_cast<double>(axis);  // by no common distance: f may depend on x - y
      const double step = sign * near * length * (1 + turn - std::floor(turn));
      const bool inside = range.lower < x[axis] + step && x[axis] + step < range.upper;
      there[axis] += inside ? step : -step;
    }
    if (std::isnan(value_at(f, there))) return true;
  }
  return false;
}

void Cube::note_holes(std::span<const double> u, bool placed, const std::vector<std::size_t>& at,
                      std::size_t count) const {
  constexpr std::size_t most = 16;  // of one call; others follow
  const std::size_t stride = (at.size() + most - 1) / most;
  for (std::size_t k = 0; k < at.size(); k += stride) {
    std::vector<double> x(axes_.size());
    bool plain = true;  // elsewhere it is the far ends of the maps that overflow
    for (std::size_t axis = 0; axis < axes_.size(); ++axis) {
      double slope = 0;
      x[axis] = u[axis * count + at[k]];
      if (!placed || !axes_[axis].plain()) axes_[axis].map(u[axis * count + at[k]], x[axis], slope);
      plain = plain && axes_[axis].plain();
    }
    const double y = value_at(f_, x);
    if (std::isfinite(y)) {
      if (y != 0 && plain) undefined_ = too_large_ = true;
      continue;
    }
    const auto first = [&](const std::vector<double>& so_far) { return so_far.empty() || x < so_far; };
    bool gap = std::isnan(y);
    {
      const std::lock_guard lock(noting_);
      gap = gap && first(gap_);
    }
    gap = gap && in_a_gap(f_, axes_, x);
    const std::lock_guard lock(noting_);
    if (first(hole_)) hole_ = x;
    if (!gap || !first(gap_)) continue;
    gap_ = x;
    undefined_ = true;
  }
}

void Cube::judge(Answer& answer, bool always) const {
  const std::lock_guard lock(noting_);
  if (!undefined_ && !always) return;
  if (too_large_) {
    answer.reason = Reason::too_large;
    answer.value = nothing;
    answer.truncation = infinity;
    return;
  }
  answer.reason = Reason::non_finite;
  if (undefined_) answer.place = told_gap_.empty() ? gap_ : told_gap_;
  else answer.place = told_hole_.empty() ? hole_ : told_hole_;
  if (!undefined_) return;
  answer.value = nothing;
  answer.truncation = infinity;
}

void Cube::look_for_holes() const {
  constexpr std::uint32_t count = 4096;
  if (looked_.exchange(true)) return;
  const auto d = static_cast<std::size_t>(dimensions());
  std::vector<double> u(d * count), y(count);
  for (std::size_t axis = 0; axis < d; ++axis)
    for (std::uint32_t i = 0; i < count; ++i) {
      const auto column = static_cast<int>(axis) % most_sobol_dimensions;
      u[axis * count + i] = sobol(i, column, 77 + axis / most_sobol_dimensions);
    }
  const std::int64_t before = holes_;
  std::vector<double> gap, hole;
  std::swap(gap, gap_);
  std::swap(hole, hole_);
  values(u, count, y);
  holes_ = before;
  told_gap_ = std::exchange(gap_, gap);
  told_hole_ = std::exchange(hole_, hole);
}

}  // namespace tessera::quadrature
