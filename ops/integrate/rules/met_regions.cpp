// SPDX-License-Identifier: Apache-2.0
#include "ops/integrate/rules/met_regions.hpp"
#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include "ops/integrate/rules/sobol.hpp"

namespace tessera::quadrature {
namespace {

constexpr int enough = 32;  // points: a rule that has seen something there has many more

// Points are drawn together there, on each axis that tells of its place.
bool drawn_to(const HiddenRegion& region, const std::vector<Axis>& axes) {
  constexpr double near = 10;
  for (std::size_t axis = 0; axis < axes.size(); ++axis) {
    const double reach = region.reach[axis], width = axes[axis].width;
    if (std::isinf(reach)) continue;
    const bool drawn = 0 < width && width <= near * reach &&
                       std::fabs(region.inside[axis] - axes[axis].centre) <= near * reach;
    if (!drawn) return false;
  }
  return true;
}

// Where an axis begins that has no end.
double start_of(const Range& range) {
  return std::isfinite(range.lower) ? range.lower : std::isfinite(range.upper) ? range.upper : 0;
}

// Across more than one axis: no cut of an axis follows it.
bool oblique(const std::vector<double>& normal) {
  constexpr double negligible = 1e-6;
  double largest = 0;
  for (const double part : normal) largest = std::fmax(largest, std::fabs(part));
  return std::count_if(normal.begin(), normal.end(),
                       [&](double part) { return std::fabs(part) > negligible * largest; }) > 1;
}

// Between parallel planes, fewer pairs than there are axes.
bool is_ridge(const HiddenRegion& region) {
  return region.normals.size() < region.inside.size() &&
         std::any_of(region.normals.begin(), region.normals.end(), oblique);
}

// So thin that no rule's points can follow it.
bool is_thin(const HiddenRegion& region) {
  constexpr double thinnest = 1e-4;
  return is_ridge(region) && region.share < thinnest;
}

}  // namespace

MetRegions::MetRegions(const ManyValues& f, const Box& box)
    : f_(f),
      box_(box),
      values_(f),
      points_(std::make_unique<std::atomic<int>[]>(box.hidden.size())),
      seen_(std::make_unique<std::atomic<std::uint32_t>[]>(box.hidden.size())) {
  forget();
  if (box.hidden.empty()) return;
  values_ = [this](std::span<const double> points, std::size_t count, std::span<double> y) {
    this->count(points, count);
    f_(points, count, y);
  };
  for (const HiddenRegion& region : box.hidden) {
    double y[2], volume = region.share;
    f(region.inside, 1, {y, 1});
    f(region.outside, 1, {y + 1, 1});
    evaluations_ += 2;
    for (const Range& range : box.axes)
      if (range.finite()) volume *= std::fabs(range.upper - range.lower);
    mass_.push_back(std::fabs(y[0] - y[1]) * volume);
    std::size_t along = 0;
    const auto goes_on = [&](std::size_t axis) {
      return std::isinf(region.reach[axis]) && box.axes[axis].finite();
    };
    while (along < box.axes.size() && !(is_ridge(region) && goes_on(along))) ++along;
    std::uint32_t stretches = 0;
    for (int i = 0; i < most_stretches && along < box.axes.size(); ++i)
      stretches |= crossed(region, along, i) ? std::uint32_t{1} << i : 0;
    along_.push_back(stretches == 0 ? box.axes.size() : along);
    stretches_.push_back(stretches);
  }
}

// Whether the region crosses this stretch of the axis inside of the box, by each pair of its planes.
bool MetRegions::crossed(const HiddenRegion& region, std::size_t axis, int stretch) const {
  for (const std::vector<double>& normal : region.normals) {
    double least = 0, most = 0;
    for (std::size_t k = 0; k < normal.size(); ++k) {
      const Range& range = box_.axes[k];
      const double middle = range.lower + (range.upper - range.lower) * (stretch + 0.5) / most_stretches;
      const double a = normal[k] * ((k == axis ? middle : range.lower) - region.inside[k]),
                   b = normal[k] * ((k == axis ? middle : range.upper) - region.inside[k]);
      least += std::fmin(a, b);
      most += std::fmax(a, b);
    }
    if (!(least <= 0 && 0 <= most)) return false;
  }
  return true;
}

void MetRegions::forget() {
  for (std::size_t k = 0; k < box_.hidden.size(); ++k) {
    points_[k].store(0, std::memory_order_relaxed);
    seen_[k].store(0, std::memory_order_relaxed);
  }
}

void MetRegions::count(std::span<const double> points, std::size_t count) const {
  for (std::size_t k = 0; k < box_.hidden.size(); ++k) {
    const HiddenRegion& region = box_.hidden[k];
    if (is_thin(region) || met(region)) continue;
    int here = 0;
    std::uint32_t stretches = 0;
    const std::size_t along = along_[k];
    for (std::size_t i = 0; i < count; ++i) {
      if (!region.holds(&points[i], count)) continue;
      ++here;
      if (along == box_.axes.size()) continue;
      const Range& range = box_.axes[along];
      const double share = (points[along * count + i] - range.lower) / (range.upper - range.lower);
      stretches |=
          std::uint32_t{1} << std::clamp(static_cast<int>(share * most_stretches), 0, most_stretches - 1);
    }
    if (here == 0) continue;
    points_[k].fetch_add(here, std::memory_order_relaxed);
    seen_[k].fetch_or(stretches, std::memory_order_relaxed);
  }
}

// True where points lie in nearly all of it.
bool MetRegions::met(const HiddenRegion& region) const {
  const auto k = static_cast<std::size_t>(&region - box_.hidden.data());
  const int crossed = std::popcount(stretches_[k]),
            seen = std::popcount(stretches_[k] & seen_[k].load(std::memory_order_relaxed));
  return !is_thin(region) && points_[k].load(std::memory_order_relaxed) >= enough && 4 * seen >= 3 * crossed;
}

// Points that know nothing of it meet it, too. Where an axis has no end they thin out with the square of the
// distance.
bool MetRegions::wide(const HiddenRegion& region, const std::vector<Axis>& axes) const {
  constexpr double first = 1024, some = 8;  // points of a rule before it adapts
  double expected = first;
  for (std::size_t axis = 0; axis < region.reach.size() && region.normals.empty(); ++axis) {
    const double length = std::fabs(box_.axes[axis].upper - box_.axes[axis].lower);
    const bool drawn = axes[axis].width > 0;
    const double width = drawn ? axes[axis].width : 1,
                 away = region.inside[axis] - (drawn ? axes[axis].centre : start_of(box_.axes[axis]));
    if (!std::isfinite(region.reach[axis])) continue;
    expected *=
        std::fmin(1, 2 * region.reach[axis] *
                         (std::isfinite(length) ? 1 / length : width / (width * width + away * away)));
  }
  if (!region.normals.empty()) expected *= region.share;
  return expected >= some;
}

// A needle that is nearly all of the integral is in it where the answer is not far smaller. What its mass is
// told too large by, axis by axis, is little beside what an answer without it lacks.
bool MetRegions::makes_up(const Answer& answer, double mass) const {
  constexpr std::uint32_t count = 255;
  if (2 * mass < std::accumulate(mass_.begin(), mass_.end(), 0.0)) return false;
  const double least = std::pow(0.4, box_.dimensions()) * mass;
  std::vector<double> x(box_.axes.size()), y(1), sizes;
  double volume = 1;
  for (std::uint32_t i = 0; i < count; ++i) {
    for (std::size_t axis = 0; axis < x.size(); ++axis) {
      const Range& range = box_.axes[axis];
      if (!range.finite()) return false;
      const int column = static_cast<int>(axis) % most_sobol_dimensions;
      x[axis] = range.lower + (range.upper - range.lower) * sobol(i, column, 81);
      if (i == 0) volume *= std::fabs(range.upper - range.lower);
    }
    f_(x, 1, y);
    sizes.push_back(std::fabs(y[0]));
  }
  std::nth_element(sizes.begin(), sizes.begin() + count / 2, sizes.end());
  return volume * sizes[count / 2] <= 0.1 * least && answer.magnitude >= least;
}

void MetRegions::doubt(Answer& answer, const Tolerance& tolerance, const std::vector<Axis>* elsewhere) const {
  if (!std::isfinite(answer.error())) return;
  for (std::size_t k = 0; k < box_.hidden.size(); ++k) {
    const HiddenRegion& region = box_.hidden[k];
    if (mass_[k] <=
        0.1 * tolerance.of(answer.value)) {  // too little to look further for, but a part of the error
      answer.truncation += 2 * mass_[k];
      continue;
    }
    const bool there = elsewhere == nullptr
                           ? met(region)
                           : !is_thin(region) && (wide(region, *elsewhere) || drawn_to(region, *elsewhere) ||
                                                  makes_up(answer, mass_[k]));
    if (there) continue;
    if (answer.converged()) answer.reason = Reason::doubtful;
    answer.truncation = infinity;
    answer.why += (answer.why.empty() ? "" : "; ") +
                  std::string("the formula changes in a small part of the box, where few points lie");
    return;
  }
  if (answer.converged() && !(answer.error() <= tolerance.of(answer.value)))
    answer.reason = Reason::unresolved;
  widen(answer, tolerance);
}

void MetRegions::widen(Answer& answer, const Tolerance& tolerance) const {
  if (answer.converged() || !std::isfinite(answer.error())) return;
  for (std::size_t k = 0; k < box_.hidden.size(); ++k)
    if (is_ridge(box_.hidden[k]) && mass_[k] > 0.1 * tolerance.of(answer.value))
      answer.truncation = std::fmax(answer.truncation, 2 * mass_[k]);
}

}  // namespace tessera::quadrature
