// SPDX-License-Identifier: Apache-2.0
// A look at an integrand of several variables: where is it large, and how far does that reach?
#include <algorithm>
#include <fmt/format.h>
#include "ops/integrate/rules/cubature.hpp"
#include "ops/integrate/rules/sobol.hpp"

namespace tessera::quadrature {
namespace {

using Point = std::vector<double>;  // on the cube

class Explorer {
 public:
  Explorer(const ManyValues& f, const Box& box) : f_(f), d_(box.axes.size()) {
    for (const Range& range : box.axes) axes_.push_back(Axis::of(range));
  }

  Explored run();
  std::int64_t evaluations() const { return evaluations_; }

 private:
  std::vector<double> sizes(const std::vector<Point>& points);
  void find_gap(const std::vector<double>& x, const std::vector<double>& y);
  std::vector<Point> first_points() const;
  void climb(Point& top, double& height);
  double width(const Point& top, double height, std::size_t axis);

  const ManyValues& f_;
  std::size_t d_;
  std::vector<Axis> axes_;
  std::int64_t evaluations_ = 0;
  Point gap_;
};

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
  double out = 0;
  for (std::size_t i = 0; i < y.size(); ++i) {
    if (!(y[i] < height / 2)) continue;
    double at = 0, x = 0, slope = 0;
    axes_[axis].map(top[axis], at, slope);
    axes_[axis].map(tries[i][axis], x, slope);
    const double away = std::fabs(x - at);
    if (away > 0 && (out == 0 || away < out)) out = away;
  }
  return out;
}

Explored Explorer::run() {
  Explored out;
  const std::vector<Point> points = first_points();
  const std::vector<double> y = sizes(points);
  const auto best = static_cast<std::size_t>(std::max_element(y.begin(), y.end()) - y.begin());
  out.axes = axes_;
  out.gap = gap_;
  if (!gap_.empty()) return out;
  out.zeros_only = !(y[best] > 0);
  if (out.zeros_only) return out;
  Point top = points[best];
  double height = y[best];
  climb(top, height);
  int narrow = 0;
  for (std::size_t axis = 0; axis < d_; ++axis) {
    const double w = width(top, height, axis);
    if (w == 0) continue;
    double x = 0, slope = 0;
    axes_[axis].map(top[axis], x, slope);
    const Range& range = axes_[axis].range;
    const bool one_sided = !range.finite() && (std::isfinite(range.lower) || std::isfinite(range.upper));
    if (one_sided) {
      out.axes[axis].width = w + std::fabs(x - (std::isfinite(range.lower) ? range.lower : range.upper));
      continue;
    }
    if (range.finite() && w > 0.05 * (range.upper - range.lower)) continue;
    out.axes[axis] = Axis::around(range, x, w);
    ++narrow;
  }
  out.gap = gap_;
  if (narrow > 0)
    out.words = fmt::format(
        "|f| is largest in a narrow peak: points are drawn together there on {} of {} axes", narrow, d_);
  return out;
}

}  // namespace

Explored explore(const ManyValues& f, const Box& box, std::int64_t& evaluations) {
  Explorer explorer(f, box);
  Explored out = explorer.run();
  evaluations += explorer.evaluations();
  return out;
}

}  // namespace tessera::quadrature
