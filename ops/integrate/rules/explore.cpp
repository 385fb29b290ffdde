// SPDX-License-Identifier: Apache-2.0
// A look at an integrand of several variables: where is it large, and how far does that reach?
#include <algorithm>
#include <fmt/format.h>
#include "ops/integrate/rules/axis_parts.hpp"
#include "ops/integrate/rules/cubature.hpp"
#include "ops/integrate/rules/sobol.hpp"
#include "ops/integrate/rules/spread.hpp"

namespace tessera::quadrature {
namespace {

using Point = std::vector<double>;  // on the cube

class Explorer {
 public:
  Explorer(const ManyValues& f, const Box& box);

  Explored run(const Box& box, const Limits& limits);
  std::int64_t evaluations() const { return evaluations_; }

 private:
  std::vector<double> sizes(const std::vector<Point>& points);
  void find_gap(const std::vector<double>& x, const std::vector<double>& y);
  std::vector<Point> first_points() const;
  std::vector<Point> told_points() const;
  void note(const Point& top, double height);
  void settle(Explored& out) const;
  void climb(Point& top, double& height);
  double width(const Point& top, double height, std::size_t axis);
  Point widths(const Point& top, double height);
  void draw_together(Explored& out, const Point& top, double height);
  void find_standing(Explored& out, const Box& box, const std::vector<Point>& told, const Point& top);
  Point in_space(const Point& point) const;
  void find_far(Explored& out, const Box& box, const std::vector<Point>& told, const Point& top,
                const Limits& limits);

  const ManyValues& f_;
  std::size_t d_;
  struct Narrow {
    double x, width;
  };
  std::vector<Axis> axes_;  // cut where the formula breaks
  std::vector<std::vector<double>> centres_;
  std::vector<std::vector<Narrow>> narrow_;  // peaks, axis by axis
  std::vector<Point> hidden_;                // in parts that only a comparison shows
  std::int64_t evaluations_ = 0;
  Point gap_;
};

Explorer::Explorer(const ManyValues& f, const Box& box)
    : f_(f), d_(box.axes.size()), centres_(d_), narrow_(d_) {
  constexpr std::size_t most = 4096;
  std::size_t pieces = 1;
  for (std::size_t axis = 0; axis < d_; ++axis) {
    const Range& range = box.axes[axis];
    if (box.features.empty()) {
      axes_.push_back(Axis::of(range));
      continue;
    }
    const Features& told = box.features[axis];
    std::vector<Axis> parts = parts_of(range, told.breaks);
    if (pieces * parts.size() > most) parts = {Axis::of(range)};
    pieces *= parts.size();
    axes_.push_back(Axis::of_parts(range, std::move(parts)));
    for (const double x : told.centres)
      if (range.lower < x && x < range.upper) centres_[axis].push_back(x);
  }
  for (const HiddenRegion& region : box.hidden) {
    hidden_.emplace_back(d_);
    for (std::size_t axis = 0; axis < d_; ++axis)
      hidden_.back()[axis] = axes_[axis].place_of(region.inside[axis]);
  }
}

// |f| without the slopes of the axes: a peak is a peak of f.
std::vector<double> Explorer::sizes(const std::vector<Point>& points) {
  std::vector<double> x(d_ * points.size()), y(points.size());
  for (std::size_t i = 0; i < points.size(); ++i)
    for (std::size_t axis = 0; axis < d_; ++axis) {
      double slope = 0;
      axes_[axis].map(points[i][axis], x[axis * points.size() + i], slope);
    }
  f_(x, points.size(), y);
  find_gap(x, y);
  evaluations_ += static_cast<std::int64_t>(points.size());
  for (double& value : y) value = std::isfinite(value) ? std::fabs(value) : 0;
  return y;
}

std::vector<Point> Explorer::first_points() const {
  constexpr std::uint32_t scattered = 8192;
  std::vector<Point> out{Point(d_, 0.5)};
  for (std::uint32_t i = 0; i < scattered; ++i) {
    Point point(d_);
    for (std::size_t axis = 0; axis < d_; ++axis) point[axis] = sobol(i, static_cast<int>(axis), 77);
    out.push_back(std::move(point));
  }
  return out;
}

// Wherever parts of the formula change sign together: a needle may stand there.
std::vector<Point> Explorer::told_points() const {
  constexpr std::size_t most = 4096, repeated = 16;
  std::size_t count = 1;
  bool all = true;
  for (const auto& list : centres_) {
    if (count * std::max<std::size_t>(1, list.size()) <= most) count *= std::max<std::size_t>(1, list.size());
    all = all && !list.empty();
  }
  std::vector<Point> out = hidden_;
  if (std::all_of(centres_.begin(), centres_.end(), [](const auto& list) { return list.empty(); }))
    return out;
  const std::size_t repeats = all ? 1 : std::max<std::size_t>(1, std::min(repeated, most / count));
  for (std::size_t k = 0; k < count * repeats; ++k) {
    Point point(d_);
    std::size_t rest = k / repeats;
    for (std::size_t axis = 0; axis < d_; ++axis) {
      const std::vector<double>& list = centres_[axis];
      if (list.empty()) {
        point[axis] = sobol(static_cast<std::uint32_t>(k), static_cast<int>(axis), 78);
        continue;
      }
      point[axis] = axes_[axis].place_of(list[rest % list.size()]);
      rest /= list.size();
    }
    out.push_back(std::move(point));
  }
  return out;
}

// Some of the points without a value are looked at.
void Explorer::find_gap(const std::vector<double>& x, const std::vector<double>& y) {
  constexpr int most = 64;
  int tried = 0;
  for (std::size_t i = 0; i < y.size() && tried < most && gap_.empty(); ++i) {
    if (!std::isnan(y[i])) continue;
    ++tried;
    Point at(d_);
    for (std::size_t axis = 0; axis < d_; ++axis) at[axis] = x[axis * y.size() + i];
    if (in_a_gap(f_, axes_, at)) gap_ = at;
  }
}

// Along one axis after another, by steps that shrink.
void Explorer::climb(Point& top, double& height) {
  for (double step = 0.25; step > 1e-9; step /= 2)
    for (int round = 0; round < 4; ++round) {
      std::vector<Point> tries;
      for (std::size_t axis = 0; axis < d_; ++axis)
        for (const double side : {-step, step}) {
          Point point = top;
          point[axis] = std::clamp(point[axis] + side, 1e-12, 1 - 1e-12);
          tries.push_back(std::move(point));
        }
      const std::vector<double> y = sizes(tries);
      const auto best = static_cast<std::size_t>(std::max_element(y.begin(), y.end()) - y.begin());
      if (!(y[best] > height)) break;
      top = tries[best];
      height = y[best];
    }
}

// How far from the top |f| falls to half, in the axis' own unit; 0 where that is far.
double Explorer::width(const Point& top, double height, std::size_t axis) {
  std::vector<Point> tries;
  for (double step = 0.1; step > 1e-8; step /= 1.5)
    for (const double side : {-step, step}) {
      Point point = top;
      point[axis] = std::clamp(point[axis] + side, 1e-12, 1 - 1e-12);
      tries.push_back(std::move(point));
    }
  const std::vector<double> y = sizes(tries);
  const auto away = [&](const Point& point) {
    double at = 0, x = 0, slope = 0;
    axes_[axis].map(top[axis], at, slope);
    axes_[axis].map(point[axis], x, slope);
    return std::fabs(x - at);
  };
  double out = 0;
  std::size_t nearest = 0;
  for (std::size_t i = 0; i < y.size(); ++i) {
    if (!(y[i] < height / 2)) continue;
    const double there = away(tries[i]);
    if (there > 0 && (out == 0 || there <= out)) {
      out = there;
      nearest = i;
    }
  }
  // Near u = 0 and 1 x of an endless axis grows without limit from one step to the next.
  constexpr double apart = 4;
  constexpr int halvings = 60;
  if (out == 0 || nearest + 2 >= tries.size()) return out;
  Point above = tries[nearest + 2], below = tries[nearest];  // half the height, that is
  for (int i = 0; i < halvings && away(below) > apart * away(above); ++i) {
    Point middle = above;
    middle[axis] = (above[axis] + below[axis]) / 2;
    (sizes({middle})[0] < height / 2 ? below : above) = middle;
  }
  return away(below);
}

// The same of all axes; where |f| is singular, on endless ones how far out most of it lies.
Point Explorer::widths(const Point& top, double height) {
  Point out(d_);
  for (std::size_t axis = 0; axis < d_; ++axis) out[axis] = width(top, height, axis);
  const double spread = spread_of(f_, axes_, in_space(top), out, evaluations_);
  for (std::size_t axis = 0; axis < d_; ++axis)
    if (!axes_[axis].range.finite() && out[axis] > 0) out[axis] = std::fmax(out[axis], spread);
  return out;
}

// How wide a peak is along the axes.
void Explorer::note(const Point& top, double height) {
  const Point wide = widths(top, height);
  for (std::size_t axis = 0; axis < d_; ++axis) {
    const double w = wide[axis];
    double x = 0, slope = 0;
    axes_[axis].map(top[axis], x, slope);
    const Range& range = axes_[axis].range;
    const double length = range.finite() ? range.upper - range.lower : std::fmax(1, std::fabs(x));
    if (w == 0 || w > 0.05 * length || sticks_to_end(range, x, w)) continue;
    std::vector<Narrow>& list = narrow_[axis];
    const auto same = std::find_if(list.begin(), list.end(), [&](const Narrow& known) {
      return std::fabs(known.x - x) <= std::fmax(known.width, w);
    });
    if (same == list.end()) list.push_back({x, w});
    else same->width = std::fmin(same->width, w);
  }
}

Point Explorer::in_space(const Point& point) const {
  Point x(d_);
  double slope = 0;
  for (std::size_t axis = 0; axis < d_; ++axis) axes_[axis].map(point[axis], x[axis], slope);
  return x;
}

// Tops that lie far from each other where an axis has no end are peaks of it, however wide they are. Those at
// about the same place of an axis are one.
void Explorer::find_far(Explored& out, const Box& box, const std::vector<Point>& told, const Point& top,
                        const Limits& limits) {
  std::vector<Point> places{in_space(top)};
  for (const Point& point : told) places.push_back(in_space(point));
  out.far = far_peaks(f_, box, places, limits, evaluations_, out.hurried);
  for (std::size_t axis = 0; axis < d_ && !out.far.empty(); ++axis) {
    if (axes_[axis].range.finite()) continue;
    for (const FarPeak& peak : out.far) {
      const double x = peak.centre[axis], width = peak.width[axis];
      std::vector<Narrow>& list = narrow_[axis];
      const auto same = std::find_if(list.begin(), list.end(), [&](const Narrow& known) {
        return std::fabs(known.x - x) <= 2.5 * (known.width + width);
      });
      if (same == list.end()) list.push_back({x, width});
      else same->width = std::fmin(same->width, width);
    }
  }
}

// Each axis is drawn together around all narrow peaks in each of its parts.
void Explorer::settle(Explored& out) const {
  for (std::size_t axis = 0; axis < d_; ++axis) {
    std::vector<Narrow> peaks = narrow_[axis];
    if (peaks.empty()) continue;
    std::sort(peaks.begin(), peaks.end(), [](const Narrow& a, const Narrow& b) { return a.x < b.x; });
    const Axis& whole = axes_[axis];
    std::vector<Axis> parts;
    for (const Axis& part : whole.parts.empty() ? std::vector<Axis>{whole} : whole.parts) {
      // A peak at a break stands on both sides of it.
      std::vector<Narrow> inside;
      for (const Narrow& peak : peaks) {
        const double x = std::clamp(peak.x, part.range.lower, part.range.upper);
        if (std::fabs(x - peak.x) <= 1e-3 * peak.width) inside.push_back({x, peak.width});
      }
      if (inside.empty()) parts.push_back(part);
      double from = part.range.lower;
      for (std::size_t i = 0; i < inside.size(); ++i) {
        const bool last = i + 1 == inside.size();
        const double to = last ? part.range.upper : inside[i].x + (inside[i + 1].x - inside[i].x) / 2;
        add_around(parts, {from, to}, inside[i].x, inside[i].width);
        from = to;
      }
    }
    out.axes[axis] = Axis::of_parts(whole.range, std::move(parts));
  }
}

Explored Explorer::run(const Box& box, const Limits& limits) {
  constexpr std::size_t most_told = 24;
  Explored out;
  std::vector<Point> points = first_points(), told = told_points();
  const std::size_t scattered = points.size();
  points.insert(points.end(), told.begin(), told.end());
  const std::vector<double> y = sizes(points);
  const auto best = static_cast<std::size_t>(std::max_element(y.begin(), y.end()) - y.begin());
  out.axes = axes_;
  out.whole.clear();
  for (const Axis& axis : axes_) out.whole.push_back(Axis::of(axis.range));
  out.gap = gap_;
  if (!gap_.empty()) return out;
  out.zeros_only = !(y[best] > 0);
  if (out.zeros_only) return out;
  std::vector<std::size_t> order;
  for (std::size_t i = scattered; i < points.size(); ++i)
    if (y[i] > 0) order.push_back(i);
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return y[a] > y[b]; });
  if (order.size() > most_told) order.resize(most_told);
  for (const std::size_t i : order) note(points[i], y[i]);
  Point top = points[best];
  double height = y[best];
  climb(top, height);
  note(top, height);
  find_far(out, box, told, top, limits);
  settle(out);
  draw_together(out, top, height);
  std::vector<double> heights(y.begin(), y.begin() + static_cast<std::ptrdiff_t>(scattered));
  std::nth_element(heights.begin(), heights.begin() + heights.size() / 2, heights.end());
  out.typical = heights[heights.size() / 2];
  find_standing(out, box, told, top);
  out.gap = gap_;
  return out;
}

void Explorer::find_standing(Explored& out, const Box& box, const std::vector<Point>& told,
                             const Point& top) {
  std::vector<Point> places{in_space(top)};
  for (const Point& point : told) places.push_back(in_space(point));
  out.standing = standing_peaks(f_, box, places, evaluations_);
}

// The axes without parts, around the largest peak alone.
void Explorer::draw_together(Explored& out, const Point& top, double height) {
  int narrow = 0;
  const Point wide = widths(top, height);
  for (std::size_t axis = 0; axis < d_; ++axis) {
    const double w = wide[axis];
    if (w == 0) continue;
    double x = 0, slope = 0;
    axes_[axis].map(top[axis], x, slope);
    const Range& range = axes_[axis].range;
    if (sticks_to_end(range, x, w)) continue;
    const bool one_sided = !range.finite() && (std::isfinite(range.lower) || std::isfinite(range.upper));
    const bool parts = !out.axes[axis].parts.empty();
    if (one_sided) {
      out.whole[axis].width = w + std::fabs(x - (std::isfinite(range.lower) ? range.lower : range.upper));
    } else if (!range.finite() || w <= 0.05 * (range.upper - range.lower)) {
      out.whole[axis] = Axis::around(range, x, w);
      ++narrow;
    }
    if (!parts) out.axes[axis] = out.whole[axis];
  }
  out.drawn = narrow == static_cast<int>(d_);
  if (narrow > 0)
    out.words = fmt::format(
        "|f| is largest in a narrow peak: points are drawn together there on {} of {} axes", narrow, d_);
  if (!out.far.empty())
    out.words +=
        fmt::format("{}{} peaks lie far from each other", out.words.empty() ? "" : "; ", out.far.size());
  const auto cut =
      std::count_if(out.axes.begin(), out.axes.end(), [](const Axis& a) { return a.count() > 1; });
  if (cut > 0)
    out.words += fmt::format("{}the formula breaks or has peaks at places on {} of {} axes: cut there",
                             out.words.empty() ? "" : "; ", cut, d_);
}

}  // namespace

Explored explore(const ManyValues& f, const Box& box, const Limits& limits, std::int64_t& evaluations) {
  Explorer explorer(f, box);
  Explored out = explorer.run(box, limits);
  evaluations += explorer.evaluations();
  return out;
}

}  // namespace tessera::quadrature
