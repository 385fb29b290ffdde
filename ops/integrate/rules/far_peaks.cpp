// SPDX-License-Identifier: Apache-2.0
#include "ops/integrate/rules/far_peaks.hpp"
#include <algorithm>
#include <cmath>
#include "ops/integrate/rules/deadline.hpp"
#include "ops/integrate/rules/sobol.hpp"

namespace tessera::quadrature {
namespace {

using Point = std::vector<double>;

struct Place {
  Point x;
  double height = 0;
};

class Scout {
 public:
  static constexpr int parts = 5;  // of what is allowed: these take one

  Scout(const ManyValues& f, const Box& box, const Limits& limits)
      : f_(f),
        box_(box),
        d_(box.axes.size()),
        most_(limits.evaluations / parts),
        until_(limits.seconds / parts) {}

  std::vector<FarPeak> run(const std::vector<Point>& told);
  FarPeak highest();
  std::int64_t evaluations() const { return evaluations_; }
  bool hurried() const { return hurried_; }

 private:
  // Where an axis without end begins: distances are told from there.
  double origin(std::size_t axis) const {
    const Range& range = box_.axes[axis];
    return std::isfinite(range.lower) ? range.lower : std::isfinite(range.upper) ? range.upper : 0;
  }
  std::vector<double> heights(const std::vector<Point>& places);
  Point scattered(std::uint32_t i) const;
  std::vector<Place> starts(const std::vector<Point>& told);
  void climb(Place& at);
  void keep_apart(std::vector<Place>& places, const Point& top);
  FarPeak measured(const Place& top);
  bool far_apart(const FarPeak& a, const FarPeak& b) const;

  const ManyValues& f_;
  const Box& box_;
  std::size_t d_;
  std::int64_t most_, evaluations_ = 0;
  Deadline until_;
  bool hurried_ = false;
};

std::vector<double> Scout::heights(const std::vector<Point>& places) {
  const std::size_t count = places.size();
  std::vector<double> x(d_ * count), y(count);
  for (std::size_t i = 0; i < count; ++i)
    for (std::size_t axis = 0; axis < d_; ++axis) x[axis * count + i] = places[i][axis];
  if (count > 0) f_(x, count, y);
  evaluations_ += static_cast<std::int64_t>(count);
  for (double& value : y) value = std::isfinite(value) ? std::fabs(value) : 0;
  return y;
}

// Every other one has a distance of its own on each axis: what lies beside an axis is met by those.
Point Scout::scattered(std::uint32_t i) const {
  constexpr double golden = 0.6180339887498949, nearest = 0.1, decades = 6;
  const auto away = [](double share) { return nearest * std::pow(10, decades * share); };
  const double radius = golden * (i + 0.5);
  Point out(d_);
  double longest = 0;
  for (std::size_t axis = 0; axis < d_; ++axis) {
    out[axis] = 2 * sobol(i, static_cast<int>(axis), 91) - 1;
    if (!box_.axes[axis].finite()) longest = std::fmax(longest, std::fabs(out[axis]));
  }
  for (std::size_t axis = 0; axis < d_; ++axis) {
    const Range& range = box_.axes[axis];
    const double v = out[axis];
    if (range.finite()) {
      out[axis] = range.lower + (range.upper - range.lower) * (v + 1) / 2;
      continue;
    }
    const double distance =
        i % 2 == 0 ? std::fabs(v) / longest * away(radius - std::floor(radius)) : away(std::fabs(v));
    const bool below = std::isfinite(range.upper) || (!std::isfinite(range.lower) && v < 0);
    out[axis] = origin(axis) + (below ? -distance : distance);
  }
  return out;
}

std::vector<Place> Scout::starts(const std::vector<Point>& told) {
  constexpr std::int64_t many = 65536, few = 1024;
  hurried_ = most_ / 4 < few;
  if (hurried_) return {};
  const auto count = static_cast<std::uint32_t>(std::clamp(most_ / 4, few, many));
  std::vector<Point> places = told;
  for (std::uint32_t i = 0; i < count; ++i) places.push_back(scattered(i));
  const std::vector<double> height = heights(places);
  std::vector<Place> out;
  for (std::size_t i = 0; i < places.size(); ++i)
    if (height[i] > 0) out.push_back({std::move(places[i]), height[i]});
  return out;
}

// Along one axis after another by steps that shrink, and on where that led upwards.
void Scout::climb(Place& at) {
  constexpr int most_rounds = 400;
  constexpr double first = 0.05, last = 1e-6;
  Point step(d_);
  for (std::size_t axis = 0; axis < d_; ++axis) {
    const Range& range = box_.axes[axis];
    step[axis] = first * (range.finite() ? range.upper - range.lower
                                         : std::fmax(1, std::fabs(at.x[axis] - origin(axis))));
  }
  const Point coarsest = step;
  for (int round = 0; round < most_rounds && step[0] > last * coarsest[0]; ++round) {
    std::vector<Point> tries;
    for (std::size_t axis = 0; axis < d_; ++axis)
      for (const double side : {-1.0, 1.0}) {
        tries.push_back(at.x);
        double& x = tries.back()[axis];
        x = std::clamp(x + side * step[axis], box_.axes[axis].lower, box_.axes[axis].upper);
      }
    const std::vector<double> y = heights(tries);
    Point onwards = at.x;
    for (std::size_t axis = 0; axis < d_; ++axis) {
      const std::size_t better = 2 * axis + (y[2 * axis + 1] > y[2 * axis] ? 1 : 0);
      if (y[better] > at.height) onwards[axis] = tries[better][axis];
    }
    tries.push_back(onwards);
    std::vector<double> all = y;
    all.push_back(heights({onwards})[0]);
    const auto best = static_cast<std::size_t>(std::max_element(all.begin(), all.end()) - all.begin());
    if (all[best] > at.height) at = {tries[best], all[best]};
    else
      for (double& s : step) s /= 2;
  }
}

// Leaves those from which |f| falls to half, or further, somewhere on the straight way to the top.
void Scout::keep_apart(std::vector<Place>& places, const Point& top) {
  constexpr double shares[] = {0.03, 0.12, 0.3, 0.6};
  std::vector<Point> way;
  for (const Place& from : places)
    for (const double share : shares) {
      way.push_back(from.x);
      for (std::size_t axis = 0; axis < d_; ++axis) way.back()[axis] += share * (top[axis] - from.x[axis]);
    }
  const std::vector<double> y = heights(way);
  std::vector<Place> out;
  for (std::size_t i = 0; i < places.size(); ++i) {
    double highest = places[i].height;
    bool falls = false;
    for (std::size_t k = 0; k < std::size(shares); ++k) {
      const double here = y[i * std::size(shares) + k];
      falls = falls || here < highest / 2;
      highest = std::fmax(highest, here);
    }
    if (falls) out.push_back(std::move(places[i]));
  }
  places = std::move(out);
}

// From the top outwards by factors.
FarPeak Scout::measured(const Place& top) {
  constexpr double factor = 1.3, nearest = 1e-7, furthest = 1e3;
  FarPeak out{top.x, Point(d_), top.height};
  for (std::size_t axis = 0; axis < d_; ++axis) {
    const Range& range = box_.axes[axis];
    const double scale = range.finite() ? (range.upper - range.lower) / furthest
                                        : std::fmax(1, std::fabs(top.x[axis] - origin(axis)));
    std::vector<Point> tries;
    for (double step = nearest * scale; step < furthest * scale; step *= factor)
      for (const double side : {-1.0, 1.0}) {
        tries.push_back(top.x);
        double& x = tries.back()[axis];
        x = std::clamp(x + side * step, range.lower, range.upper);
      }
    const std::vector<double> y = heights(tries);
    double& width = out.width[axis];
    width = range.finite() ? range.upper - range.lower : furthest * scale;
    for (std::size_t i = y.size(); i-- > 0;)
      if (y[i] < top.height / 2) width = std::fmin(width, std::fabs(tries[i][axis] - top.x[axis]));
  }
  return out;
}

// Along an axis without end; beside a wide one a narrow one is as far away by its own width.
bool Scout::far_apart(const FarPeak& a, const FarPeak& b) const {
  constexpr double many = 2.5, unlike = 6;
  for (std::size_t axis = 0; axis < d_; ++axis) {
    if (box_.axes[axis].finite()) continue;
    const double apart = std::fabs(a.centre[axis] - b.centre[axis]);
    const double narrow = std::fmin(a.width[axis], b.width[axis]),
                 wide = std::fmax(a.width[axis], b.width[axis]);
    if (apart > many * (narrow + wide) || (wide > unlike * narrow && apart > 2 * many * narrow)) return true;
  }
  return false;
}

double mass_of(const FarPeak& peak) {
  double out = peak.height;
  for (const double width : peak.width) out *= 2 * width;
  return out;
}

// From the place where |f| is largest.
FarPeak Scout::highest() {
  const std::vector<Place> all = starts({});
  const auto start = std::max_element(all.begin(), all.end(),
                                      [](const Place& a, const Place& b) { return a.height < b.height; });
  if (start == all.end()) return {};
  Place at = *start;
  climb(at);
  return measured(at);
}

std::vector<FarPeak> Scout::run(const std::vector<Point>& told) {
  constexpr int most = 16;  // more tops: f swings
  constexpr double counts = 1e-10;
  std::vector<Place> left = starts(told);
  std::vector<FarPeak> tops;
  for (int i = 0; i < most && !left.empty() && !hurried_; ++i) {
    // The highest place, and of those that do not lead there the one furthest from all tops.
    const auto key = [&](const Place& place) {
      if (i % 2 == 0) return place.height;
      double nearest = infinity;
      for (const FarPeak& top : tops) {
        double away = 0;
        for (std::size_t axis = 0; axis < d_; ++axis)
          if (!box_.axes[axis].finite()) away += std::fabs(place.x[axis] - top.centre[axis]);
        nearest = std::fmin(nearest, away);
      }
      return nearest;
    };
    const auto start = std::max_element(left.begin(), left.end(),
                                        [&](const Place& a, const Place& b) { return key(a) < key(b); });
    Place at = *start;
    left.erase(start);
    climb(at);
    tops.push_back(measured(at));
    keep_apart(left, at.x);
    hurried_ = evaluations_ > most_ || until_.passed();
  }
  double heaviest = 0;
  for (const FarPeak& top : tops) heaviest = std::fmax(heaviest, mass_of(top));
  std::erase_if(tops, [&](const FarPeak& top) { return !(mass_of(top) > counts * heaviest); });
  const bool far =
      std::any_of(tops.begin(), tops.end(), [&](const FarPeak& top) { return far_apart(top, tops.front()); });
  return far ? tops : std::vector<FarPeak>{};
}

}  // namespace

double mass_of_highest(const ManyValues& f, const Box& box, const Limits& limits, std::int64_t& evaluations) {
  if (box.dimensions() > most_sobol_dimensions) return 0;
  Scout scout(f, box, limits);
  const FarPeak top = scout.highest();
  evaluations += scout.evaluations();
  double out = top.height;
  for (std::size_t axis = 0; axis < top.centre.size(); ++axis) {
    const double x = top.centre[axis], width = top.width[axis];
    out *= (std::fmin(box.axes[axis].upper, x + width) - std::fmax(box.axes[axis].lower, x - width)) / 2;
  }
  return out;
}

std::vector<FarPeak> far_peaks(const ManyValues& f, const Box& box, const std::vector<Point>& told,
                               const Limits& limits, std::int64_t& evaluations, bool& hurried) {
  const bool endless =
      std::any_of(box.axes.begin(), box.axes.end(), [](const Range& r) { return !r.finite(); });
  if (!endless || box.dimensions() > most_sobol_dimensions) return {};
  Scout scout(f, box, limits);
  std::vector<FarPeak> out = scout.run(told);
  evaluations += scout.evaluations();
  hurried = scout.hurried();
  return out;
}

void look_far_out(Answer& answer, const ManyValues& f, const Box& box, Limits limits) {
  constexpr double several = 4;  // times too much may a peak's mass be told
  const bool endless =
      std::any_of(box.axes.begin(), box.axes.end(), [](const Range& r) { return !r.finite(); });
  limits.evaluations -= answer.evaluations;
  const bool claims = answer.converged() || answer.reason == Reason::roundoff;
  if (!endless || !claims || limits.evaluations < 1) return;
  const double mass = mass_of_highest(f, box, limits, answer.evaluations);
  if (!(mass > several * answer.magnitude)) return;
  answer.reason = Reason::doubtful;
  answer.truncation = infinity;
  answer.why +=
      (answer.why.empty() ? "" : "; ") +
      std::string("far from where the points lie stands a peak that holds more than all that they saw");
}

HiddenRegion region_of(const FarPeak& peak, const Box& box) {
  constexpr double beside = 16;
  HiddenRegion out{peak.centre, peak.centre, 1, peak.width};
  for (std::size_t axis = 0; axis < box.axes.size(); ++axis) {
    const Range& range = box.axes[axis];
    const double width = peak.width[axis];
    out.share *= range.finite() ? std::fmin(1, 2 * width / (range.upper - range.lower)) : 2 * width;
    if (!range.finite()) out.outside[axis] += std::isfinite(range.upper) ? -beside * width : beside * width;
  }
  return out;
}

}  // namespace tessera::quadrature
