// SPDX-License-Identifier: Apache-2.0
#include "ops/integrate/rules/standing.hpp"
#include <algorithm>

namespace tessera::quadrature {
namespace {

constexpr int scales = 76;
constexpr double narrowest = 1e-13;  // of the box: what is narrower, rounding hides
constexpr double widest = 0.08;      // of the box: what is wider, rules meet

constexpr double far = 8;  // widths, at which it should have ended

double step_of(int k) { return 0.25 * std::pow(1.5, -k); }  // of the box' length

class Measure {
 public:
  Measure(const ManyValues& f, const Box& box) : f_(f), box_(box) {}

  // How far f at the place is from the middle of what it is on both sides of it, a step away in a direction
  // in which both are told in lengths of the box.
  double out_by(const std::vector<double>& place, double height, const std::vector<double>& direction,
                double step) {
    double sum = 0;
    for (const double side : {-1.0, 1.0}) sum += beside(place, direction, side * step);
    return std::fabs(height - sum / 2);
  }
  std::vector<double> moved(std::vector<double> place, const std::vector<double>& direction,
                            double step) const {
    for (std::size_t axis = 0; axis < place.size(); ++axis) {
      const Range& range = box_.axes[axis];
      place[axis] = std::clamp(place[axis] + step * direction[axis] * (range.upper - range.lower),
                               range.lower, range.upper);
    }
    return place;
  }
  double beside(const std::vector<double>& place, const std::vector<double>& direction, double step) {
    return at(moved(place, direction, step));
  }
  // The larger |f| at this distance on both sides.
  double highest(std::vector<double> place, std::size_t axis, double away) {
    const Range& range = box_.axes[axis];
    const double x = place[axis];
    double out = 0;
    for (const double side : {-1.0, 1.0}) {
      place[axis] = std::clamp(x + side * away, range.lower, range.upper);
      out = std::fmax(out, std::fabs(at(place)));
    }
    return out;
  }
  double at(const std::vector<double>& place) {
    double y = 0;
    f_(place, 1, {&y, 1});
    ++evaluations;
    return y;
  }

  std::int64_t evaluations = 0;

 private:
  const ManyValues& f_;
  const Box& box_;
};

// The step at which f stands out most for its size; 0 where it goes on bending.
double width_of(Measure& measure, const std::vector<double>& place, double height,
                const std::vector<double>& direction, double& out_by) {
  double out[scales];
  for (int k = 0; k < scales; ++k) out[k] = measure.out_by(place, height, direction, step_of(k));
  // On a bend this grows as the step to the power 1.5; of a peak it is largest where that ends.
  const auto weighed = [&](int k) { return out[k] / std::sqrt(step_of(k)); };
  // Beside a root it is the same at every step, but for rounding.
  const auto stands = [&](int k) {
    constexpr int apart = 4;
    const double other = std::fmax(weighed(std::max(0, k - apart)), weighed(std::min(scales - 1, k + apart)));
    return weighed(k) > 1.05 * other;
  };
  for (int k = 1; k + 1 < scales && step_of(k + 1) > narrowest; ++k) {
    if (!(weighed(k) > weighed(k - 1) && weighed(k) >= weighed(k + 1))) continue;
    if (!(step_of(k) < widest) || !(out[k] > 1e-9 * std::fabs(height)) || !stands(k)) continue;
    out_by = out[k];
    return step_of(k);
  }
  return 0;
}

std::vector<double> along(std::size_t axis, std::size_t axes) {
  std::vector<double> out(axes);
  out[axis] = 1;
  return out;
}

}  // namespace

double standing_width(const ManyValues& f, const Box& box, const std::vector<double>& place,
                      const std::vector<double>& direction, double& out_by) {
  Measure measure(f, box);
  const double height = measure.at(place);
  return std::isfinite(height) ? width_of(measure, place, height, direction, out_by) : 0;
}

double standing_beside(const ManyValues& f, const Box& box, std::vector<double>& place,
                       const std::vector<double>& direction, double& out_by) {
  if (const double width = standing_width(f, box, place, direction, out_by); width > 0) return width;
  constexpr double nearest = 1e-14, factor = 2;
  Measure measure(f, box);
  for (const double side : {-1.0, 1.0}) {
    const auto at = [&](double step) { return measure.beside(place, direction, side * step); };
    const double before = at(-nearest), after = at(nearest), jump = std::fabs(after - before);
    if (!(jump > 1e-9 * std::fabs(before)) || !std::isfinite(jump)) continue;
    double step = factor * nearest;
    while (step < widest && std::fabs(at(step) - after) <= jump / 2) step *= factor;
    if (!(step < widest && std::fabs(at(step) - before) <= jump / 2)) continue;
    // Where it is over, between the last two steps: half of that is inside.
    std::vector<double> middle = measure.moved(place, direction, side * step / (2 * factor));
    const double width = standing_width(f, box, middle, direction, out_by);
    if (width == 0) continue;
    place = std::move(middle);
    return width;
  }
  return 0;
}

std::vector<Standing> standing_peaks(const ManyValues& f, const Box& box,
                                     const std::vector<std::vector<double>>& places,
                                     std::int64_t& evaluations) {
  constexpr std::size_t most_tried = 512, most_measured = 16;
  constexpr double tried_step = 0.02;
  std::vector<Standing> out;
  for (const Range& range : box.axes)
    if (!range.finite()) return out;
  Measure measure(f, box);
  const std::size_t d = box.axes.size();
  std::vector<std::pair<double, std::size_t>> order;
  for (std::size_t i = 0; i < std::min(places.size(), most_tried); ++i) {
    double least = infinity;
    const double height = measure.at(places[i]);
    for (std::size_t axis = 0; axis < d && least > 0; ++axis)
      least = std::fmin(least, measure.out_by(places[i], height, along(axis, d), tried_step));
    if (std::isfinite(height) && least > 1e-9 * std::fabs(height) && least < infinity)
      order.emplace_back(-least, i);
  }
  std::sort(order.begin(), order.end());
  if (order.size() > most_measured) order.resize(most_measured);
  for (const auto& [least, i] : order) {
    Standing peak;
    peak.centre = places[i];
    const double height = measure.at(places[i]);
    double lowest = infinity;
    peak.mass = 1;
    std::size_t narrow = 0;
    for (std::size_t axis = 0; axis < d; ++axis) {
      double by = infinity;
      const double length = box.axes[axis].upper - box.axes[axis].lower;
      double width = width_of(measure, places[i], height, along(axis, d), by) * length;
      if (width > 0) ++narrow;
      else width = length / far;  // all of it, that is
      peak.width.push_back(width);
      peak.mass *= 2 * width;
      lowest = std::fmin(lowest, by);
      peak.around = std::fmax(peak.around, measure.highest(places[i], axis, far * width));
    }
    // Of three variables and more two that are narrow are a small part of the box. The first place, that of
    // the largest |f|, may be a corner or a ridge.
    if (narrow < (i == 0 ? d : std::min<std::size_t>(d, 2))) continue;
    peak.mass *= lowest;
    out.push_back(std::move(peak));
  }
  std::sort(out.begin(), out.end(), [](const Standing& a, const Standing& b) { return a.mass > b.mass; });
  evaluations += measure.evaluations;
  return out;
}

namespace {

// How far a plane across an axis is from all these peaks, in widths of each.
double clearance(double plane, std::size_t axis, const std::vector<Standing>& peaks) {
  double out = far;
  for (const Standing& peak : peaks)
    out = std::fmin(out, std::fabs(plane - peak.centre[axis]) / peak.width[axis]);
  return out;
}

// Where the part around a peak ends, on one side along an axis: where it is over, if that cuts through no
// other, else between both, else behind the other.
double face_of(const Standing& peak, double side, std::size_t axis, const Range& range,
               const std::vector<Standing>& others) {
  constexpr double enough = 4;
  const double centre = peak.centre[axis], width = peak.width[axis];
  std::vector<Standing> all = others;
  all.push_back(peak);
  std::vector<double> planes{centre + side * far * width};
  for (const Standing& other : others)
    planes.push_back(centre + (other.centre[axis] - centre) * width / (width + other.width[axis]));
  for (const Standing& other : others) planes.push_back(other.centre[axis] + side * far * other.width[axis]);
  double best = planes[0], widest_clearance = -1;
  for (double plane : planes) {
    if (!(side * (plane - centre) > 0)) continue;
    plane = std::clamp(plane, range.lower, range.upper);
    const bool at_end = plane == range.lower || plane == range.upper;
    const double free = at_end ? far : clearance(plane, axis, all);
    if (free > widest_clearance) {
      best = plane;
      widest_clearance = free;
    }
    if (widest_clearance >= enough) break;
  }
  return best;
}

bool lies_in(const std::vector<double>& place, const Box& box) {
  for (std::size_t axis = 0; axis < place.size(); ++axis)
    if (!(box.axes[axis].lower <= place[axis] && place[axis] <= box.axes[axis].upper)) return false;
  return true;
}

}  // namespace

std::vector<Box> parts_around(const Box& box, const Standing& peak, std::vector<Standing> others) {
  constexpr double small = 1e-3;
  std::vector<Box> out;
  Box inner = box;
  for (std::size_t axis = 0; axis < box.axes.size(); ++axis) {
    const Range& range = box.axes[axis];
    const double length = range.upper - range.lower;
    double from = face_of(peak, -1, axis, range, others), to = face_of(peak, 1, axis, range, others);
    // No slivers beside it.
    if (from < range.lower + small * length) from = range.lower;
    if (to > range.upper - small * length) to = range.upper;
    for (const auto& [lower, upper] : {std::pair{range.lower, from}, std::pair{to, range.upper}}) {
      if (!(lower < upper)) continue;
      out.push_back(inner);
      out.back().axes[axis].lower = lower;
      out.back().axes[axis].upper = upper;
    }
    inner.axes[axis].lower = from;
    inner.axes[axis].upper = to;
    std::erase_if(others, [&](const Standing& other) { return !lies_in(other.centre, inner); });
  }
  out.insert(out.begin(), inner);
  for (Box& part : out) {
    double share = 1;
    for (std::size_t axis = 0; axis < part.axes.size(); ++axis)
      share *=
          (box.axes[axis].upper - box.axes[axis].lower) / (part.axes[axis].upper - part.axes[axis].lower);
    std::erase_if(part.hidden, [&](const HiddenRegion& region) { return !lies_in(region.inside, part); });
    for (HiddenRegion& region : part.hidden) region.share = std::fmin(1, region.share * share);
  }
  return out;
}

HiddenRegion region_of(const Standing& peak, const Box& box) {
  constexpr double beside = 6, around = 2;
  HiddenRegion out;
  out.inside = out.outside = peak.centre;
  out.share = 1;
  for (std::size_t axis = 0; axis < box.axes.size(); ++axis) {
    const double width = peak.width[axis];
    const Range& range = box.axes[axis];
    out.reach.push_back(around * width);
    out.share *= std::fmin(1, 2 * width / (range.upper - range.lower));
    double& there = out.outside[axis];
    if (axis == 0) there += (there + beside * width < range.upper ? beside : -beside) * width;
  }
  return out;
}

}  // namespace tessera::quadrature
