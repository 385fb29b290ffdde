// SPDX-License-Identifier: Apache-2.0
#include "ops/integrate/rules/domain.hpp"
#include <algorithm>

namespace tessera::quadrature {

bool HiddenRegion::holds(const double* x, std::size_t stride) const {
  for (std::size_t axis = 0; axis < inside.size(); ++axis)
    if (!(std::fabs(x[axis * stride] - inside[axis]) <= reach[axis])) return false;
  for (const std::vector<double>& normal : normals) {
    double away = 0;
    for (std::size_t axis = 0; axis < inside.size(); ++axis)
      away += normal[axis] * (x[axis * stride] - inside[axis]);
    if (!(std::fabs(away) <= 1)) return false;
  }
  return true;
}

Axis Axis::of(const Range& range) { return {.range = range}; }

Axis Axis::around(const Range& range, double centre, double width) {
  Axis out{.range = range, .centre = centre, .width = width};
  if (!range.finite()) return out;
  out.from = std::asinh((range.lower - centre) / width);
  out.to = std::asinh((range.upper - centre) / width);
  return out;
}

Axis Axis::of_parts(const Range& range, std::vector<Axis> parts) {
  if (parts.size() == 1) return parts[0];
  return {.range = range, .parts = std::move(parts)};
}

double Axis::place_of(double x) const {
  double below = 0, above = 1;
  for (int i = 0; i < 64; ++i) {
    const double middle = (below + above) / 2;
    double there = 0, slope = 0;
    map(middle, there, slope);
    (there < x ? below : above) = middle;
  }
  return (below + above) / 2;
}

void Axis::map(double u, double& x, double& slope) const {
  if (!parts.empty()) {
    const auto share = static_cast<double>(parts.size());
    const double at = std::fmin(u * share, std::nextafter(share, 0)), part = std::floor(at);
    parts[static_cast<std::size_t>(part)].map(at - part, x, slope);
    slope *= share;
    return;
  }
  const double scale = width > 0 ? width : 1;
  if (range.finite()) {
    if (width == 0) {
      x = range.lower + (range.upper - range.lower) * u;
      slope = range.upper - range.lower;
      return;
    }
    const double v = from + (to - from) * u;
    x = centre + width * std::sinh(v);
    slope = width * std::cosh(v) * (to - from);
  } else if (std::isfinite(range.lower) || std::isfinite(range.upper)) {
    const double away = scale * u / (1 - u);
    x = std::isfinite(range.lower) ? range.lower + away : range.upper - away;
    slope = scale / ((1 - u) * (1 - u));
  } else {
    const double t = 2 * u - 1, square = (1 - t) * (1 + t);
    x = centre + scale * t / square;
    slope = 2 * scale * (1 + t * t) / (square * square);
  }
}

std::vector<Axis> less_drawn_together(const std::vector<Axis>& axes, bool parted) {
  std::vector<Axis> out;
  for (const Axis& axis : axes) {
    out.push_back(Axis::of(axis.range));
    if (!parted) continue;
    std::vector<Axis> parts;
    for (const Axis& part : axis.parts.empty() ? std::vector<Axis>{axis} : axis.parts)
      parts.push_back(part.range.finite() && part.width > 0
                          ? Axis::around(part.range, part.centre, 2 * part.width)
                          : part);
    out.back() = Axis::of_parts(axis.range, std::move(parts));
  }
  return out;
}

Cube::Cube(ManyValues f, std::vector<Axis> axes, const Limits& limits)
    : f_(std::move(f)), axes_(std::move(axes)), limits_(limits), start_(std::chrono::steady_clock::now()) {}

void Cube::values_at(std::span<const double> u, std::size_t count, std::span<double> y, bool placed) const {
  thread_local std::vector<double> x, weight;
  double everywhere = 1;
  bool varies = false, same = placed;
  for (const Axis& map : axes_) same = same && map.plain();
  if (!same && x.size() < u.size()) x.resize(u.size());
  for (std::size_t axis = 0; axis < axes_.size(); ++axis) {
    const double* const from = &u[axis * count];
    const Axis& map = axes_[axis];
    if (map.plain()) {
      const double lower = map.range.lower, length = map.range.upper - map.range.lower;
      everywhere *= length;
      if (same) continue;
      for (std::size_t i = 0; i < count; ++i)
        x[axis * count + i] = placed ? from[i] : lower + length * from[i];
      continue;
    }
    if (!varies) weight.assign(count, 1.0);
    varies = true;
    for (std::size_t i = 0; i < count; ++i) {
      double slope = 0;
      map.map(from[i], x[axis * count + i], slope);
      weight[i] *= slope;
    }
  }
  f_(same ? u : std::span<const double>(x).first(u.size()), count, y);
  std::int64_t holes = 0;
  for (std::size_t i = 0; i < count; ++i) {
    y[i] *= varies ? weight[i] * everywhere : everywhere;
    holes += !(y[i] - y[i] == 0);
  }
  if (holes == 0) return;
  std::vector<std::size_t> at;
  for (std::size_t i = 0; i < count; ++i) {
    if (y[i] - y[i] == 0) continue;
    y[i] = 0;
    at.push_back(i);
  }
  holes_.fetch_add(holes, std::memory_order_relaxed);
  note_holes(u, placed, at, count);
}

double Cube::seconds_left() const {
  return limits_.seconds - std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
}

bool Cube::allows(std::int64_t more) const { return evaluations_ + more <= limits_.evaluations && !late(); }

}  // namespace tessera::quadrature
