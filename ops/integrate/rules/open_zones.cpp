// SPDX-License-Identifier: Apache-2.0
#include "ops/integrate/rules/open_zones.hpp"
#include <algorithm>
#include <functional>
#include <limits>
#include "ops/integrate/rules/sobol.hpp"

namespace tessera::quadrature {
namespace {

constexpr std::size_t in_octave = 8;  // places at which each doubling of the distance is looked at
constexpr int patience = 8;           // doublings without an open place, behind which none is looked for

// How far f would move at these places, and f there.
using Moved = std::function<void(std::span<const double> x, std::span<double> moved)>;
using Heights = std::function<void(std::span<const double> x, std::span<double> y)>;

// The distance from which on places beside x are numbers of their own.
double finest_beside(double x, double room, double rounding) {
  const double scale = std::fmin(room, 1);
  const double finest = std::fmax(2 * rounding * std::fabs(x), 0x1p-100 * scale);
  return std::fmax(finest,
                   std::numeric_limits<double>::denorm_min());  // of 0 no doubling would ever lead away
}

// The integral of what f would move by, from the distance `finest` on to `room` in one direction.
double open_on_side(double at, double direction, double finest, double room, const Moved& moved_at,
                    const Heights& heights_at) {
  double sum = 0, unknown = 0, before = 0;
  int quiet = 0;
  for (double away = finest; away < room && quiet < patience; away *= 2, ++quiet) {
    double x[in_octave], moved[in_octave];
    std::size_t count = 0;
    for (; count < in_octave; ++count) {
      // Within each eighth at another share of it, lest places be in step with the numbers that x has.
      const double share = std::fmod(0.6180339887498949 * double(count + 1), 1);
      const double there = away * (1 + (double(count) + share) / in_octave);
      if (!(there < room)) break;
      x[count] = at + direction * there;
    }
    moved_at({x, count}, {moved, count});
    const double width = away / in_octave;
    for (std::size_t i = 0; i < count; ++i) {
      if (std::isnan(moved[i])) {
        unknown += width;
        quiet = -1;
        continue;
      }
      if (moved[i] > 0) quiet = -1;
      sum += width * std::fmax(moved[i], before);
      before = moved[i];
    }
  }
  if (unknown == 0) return sum;
  // The other side has no value: then the jump is taken to be what f has on this one and beyond the zone.
  const double x[2] = {at + direction * finest, at + direction * std::fmin(room / 2, finest + 4 * unknown)};
  double y[2];
  heights_at(x, y);
  const double jump = std::fabs(y[0]) + std::fabs(y[1]);
  return std::isfinite(jump) ? sum + unknown * jump : infinity;
}

}  // namespace

double open_beside_cuts(const Integrand& f, const Range& range, std::span<const Piece> pieces) {
  if (!f.open) return 0;
  std::vector<double> distance;
  const auto told = [&](const Integrand::Values& of) {
    return [&](std::span<const double> x, std::span<double> y) {
      distance.resize(x.size());
      std::transform(x.begin(), x.end(), distance.begin(), [&](double at) { return range.distance(at); });
      of(x, distance, y);
    };
  };
  const Moved moved = told(f.open);
  const Heights heights = told(f.values);
  double out = 0;
  for (const Piece& piece : pieces)
    for (const double direction : {1.0, -1.0}) {
      const double at = direction > 0 ? piece.lower : piece.upper, room = piece.upper - piece.lower;
      if (!std::isinf(at))
        out += open_on_side(at, direction, finest_beside(at, room, range.rounding), room, moved, heights);
    }
  return out;
}

namespace {

// f over all axes but one, at scattered places of these.
class Across {
 public:
  Across(const Box& box, std::size_t axis) : axis_(axis) {
    for (const Range& range : box.axes)
      axes_.push_back(Axis::of({std::fmin(range.lower, range.upper), std::fmax(range.lower, range.upper)}));
  }

  // The mean of |of| at each x of the axis, times the extent of the others; NaN where any is none.
  void mean(const ManyValues& of, std::span<const double> x, std::span<double> out) {
    constexpr std::size_t places = 16;
    const std::size_t count = x.size() * places;
    std::vector<double> points(axes_.size() * count), weight(count, 1), y(count);
    for (std::size_t axis = 0; axis < axes_.size(); ++axis)
      for (std::size_t i = 0; i < count; ++i) {
        double& to = points[axis * count + i];
        if (axis == axis_) {
          to = x[i / places];
          continue;
        }
        double slope = 0;
        const auto number = static_cast<std::uint32_t>(drawn_ + i);
        axes_[axis].map(
            sobol(number, static_cast<int>(axis) % most_sobol_dimensions, 83 + axis / most_sobol_dimensions),
            to, slope);
        weight[i] *= slope;
      }
    drawn_ += count;
    of(points, count, y);
    std::fill(out.begin(), out.end(), 0.0);
    for (std::size_t i = 0; i < count; ++i)
      if (y[i] != 0) out[i / places] += weight[i] * std::fabs(y[i]) / places;
  }

 private:
  std::vector<Axis> axes_;
  std::size_t axis_, drawn_ = 0;
};

}  // namespace

double open_beside_breaks(const ManyValues& f, const ManyValues& open, const Box& box,
                          std::span<const Features> features) {
  if (!open) return 0;
  double out = 0;
  for (std::size_t axis = 0; axis < features.size(); ++axis) {
    const Range& range = box.axes[axis];
    const Range up{std::fmin(range.lower, range.upper), std::fmax(range.lower, range.upper), range.rounding};
    Across across(box, axis);
    const Moved moved = [&](std::span<const double> x, std::span<double> y) { across.mean(open, x, y); };
    const Heights heights = [&](std::span<const double> x, std::span<double> y) { across.mean(f, x, y); };
    for (const double at : features[axis].breaks) {
      const double below = at - up.lower, above = up.upper - at;
      for (const double direction : {1.0, -1.0}) {
        const double room = direction > 0 ? above : below;
        if (room > 0)
          out += open_on_side(at, direction, finest_beside(at, room, up.rounding), room, moved, heights);
      }
    }
  }
  return out;
}

}  // namespace tessera::quadrature
