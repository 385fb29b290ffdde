// SPDX-License-Identifier: Apache-2.0
#include "ops/integrate/rules/extremes.hpp"
#include <algorithm>
#include "ops/integrate/rules/deadline.hpp"
#include "ops/integrate/rules/sobol.hpp"

namespace tessera::quadrature {
namespace {

constexpr double low = 0x1p-52;

// Scattered points of the box, one coordinate after another; on an axis without width all are its limit.
std::vector<double> scattered(const std::vector<Axis>& axes, std::size_t count) {
  std::vector<double> out(axes.size() * count);
  for (std::size_t axis = 0; axis < axes.size(); ++axis) {
    const Range& range = axes[axis].range;
    for (std::size_t i = 0; i < count; ++i) {
      const auto column = static_cast<int>(axis) % most_sobol_dimensions;
      const double u = sobol(static_cast<std::uint32_t>(i), column, 79 + axis / most_sobol_dimensions);
      double slope = 0;
      if (range.lower == range.upper) out[axis * count + i] = range.lower;
      else axes[axis].map(std::clamp(u, low, 1 - low), out[axis * count + i], slope);
    }
  }
  return out;
}

std::vector<Axis> axes_of(const Box& box) {
  std::vector<Axis> out;
  for (const Range& range : box.axes) out.push_back(Axis::of(range));
  return out;
}

}  // namespace

Answer between_same_limits(const ManyValues& f, const Box& box) {
  constexpr std::size_t count = 1024;
  const std::vector<Axis> axes = axes_of(box);
  const std::vector<double> x = scattered(axes, count);
  std::vector<double> y(count), at(axes.size());
  f(x, count, y);
  Answer out;
  out.evaluations = count;
  out.rule = "none";
  out.why = "two limits are the same";
  for (std::size_t i = 0; i < count; ++i) {
    if (std::isfinite(y[i])) continue;
    for (std::size_t axis = 0; axis < axes.size(); ++axis) at[axis] = x[axis * count + i];
    if (std::isnan(y[i]) && !in_a_gap(f, axes, at)) continue;
    out.reason = Reason::non_finite;
    out.place = at;
    return out;
  }
  out.value = out.truncation = 0;
  out.reason = Reason::converged;
  return out;
}

double scattered_error(const ManyValues& errors, const Box& box) {
  constexpr std::uint32_t count = 1024;
  std::vector<Axis> axes;
  for (const Range& range : box.axes)
    axes.push_back(Axis::of({std::fmin(range.lower, range.upper), std::fmax(range.lower, range.upper)}));
  const Cube cube(errors, axes, {});
  std::vector<double> u(axes.size() * count), error(count);
  for (std::size_t axis = 0; axis < axes.size(); ++axis)
    for (std::uint32_t i = 0; i < count; ++i)
      u[axis * count + i] =
          sobol(i, static_cast<int>(axis) % most_sobol_dimensions, 80 + axis / most_sobol_dimensions);
  cube.values(u, count, error);
  double sum = 0;
  for (const double one : error) sum += one;
  return sum / count;
}

namespace {

constexpr std::size_t tried = 64;

int excess_of(std::span<const double> y) {
  constexpr int harmless = 400;
  int out = 0;
  for (const double value : y)
    if (std::isfinite(value) && value != 0) out = std::max(out, std::ilogb(value));
  return out > harmless ? out : 0;
}

void scale(std::span<double> y, int excess) {
  for (double& value : y) value = std::ldexp(value, -excess);
}

}  // namespace

int excess_of(const ManyValues& f, const Box& box) {
  std::vector<double> y(tried);
  f(scattered(axes_of(box), tried), tried, y);
  return excess_of(y);
}

int excess_of(const Integrand& f, const Range& range) {
  const std::vector<double> x = scattered({Axis::of(range)}, tried);
  double distance[tried], y[tried];
  std::transform(x.begin(), x.end(), distance, [&](double at) { return range.distance(at); });
  f.values(x, distance, y);
  return excess_of(y);
}

double seconds_each(const ManyValues& f, const Box& box) {
  const std::vector<double> x = scattered(axes_of(box), tried);
  double y[tried];
  f(x, tried, y);  // what the first call alone takes does not count
  const Deadline clock(infinity);
  f(x, tried, y);
  return clock.spent() / tried;
}

Integrand scaled(const Integrand& f, int excess) {
  Integrand out = f;
  const auto smaller = [excess](const Integrand::Values& values) -> Integrand::Values {
    if (!values) return {};
    return
        [&values, excess](std::span<const double> x, std::span<const double> distance, std::span<double> y) {
          values(x, distance, y);
          scale(y.first(x.size()), excess);
        };
  };
  out.values = smaller(f.values);
  out.errors = smaller(f.errors);
  out.open = smaller(f.open);
  out.within = {};  // parts would not be scaled
  if (f.in_double)
    out.in_double = [&f, excess](std::span<const double> x, std::span<double> y) {
      f.in_double(x, y);
      scale(y.first(x.size()), excess);
    };
  return out;
}

ManyValues scaled(const ManyValues& f, int excess) {
  return [&f, excess](std::span<const double> points, std::size_t count, std::span<double> y) {
    f(points, count, y);
    scale(y.first(count), excess);
  };
}

Tolerance scaled(const Tolerance& tolerance, int excess) {
  return {tolerance.relative, std::ldexp(tolerance.absolute, -excess)};
}

void scale_back(Answer& answer, int excess) {
  for (double* number : {&answer.value, &answer.truncation, &answer.rounding, &answer.magnitude})
    *number = std::ldexp(*number, excess);
}

}  // namespace tessera::quadrature
