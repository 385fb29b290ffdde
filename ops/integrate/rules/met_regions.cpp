// SPDX-License-Identifier: Apache-2.0
#include "ops/integrate/rules/met_regions.hpp"
#include <algorithm>
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

}  // namespace

MetRegions::MetRegions(const ManyValues& f, const Box& box)
    : f_(f), box_(box), values_(f), points_(std::make_unique<std::atomic<int>[]>(box.hidden.size())) {
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
  }
}

void MetRegions::forget() {
  for (std::size_t k = 0; k < box_.hidden.size(); ++k) points_[k].store(0, std::memory_order_relaxed);
}

void MetRegions::count(std::span<const double> points, std::size_t count) const {
  for (std::size_t k = 0; k < box_.hidden.size(); ++k) {
    if (points_[k].load(std::memory_order_relaxed) >= enough) continue;
    const HiddenRegion& region = box_.hidden[k];
    int here = 0;
    for (std::size_t i = 0; i < count; ++i) here += region.holds(&points[i], count);
    if (here > 0) points_[k].fetch_add(here, std::memory_order_relaxed);
  }
}

bool MetRegions::met(const HiddenRegion& region) const {
  const auto k = static_cast<std::size_t>(&region - box_.hidden.data());
  return points_[k].load(std::memory_order_relaxed) >= enough;
}

// Points that know nothing of it meet it, too.
bool MetRegions::wide(const HiddenRegion& region) const {
  constexpr double first = 1024, some = 8;  // points of a rule before it adapts
  double expected = first;
  for (std::size_t axis = 0; axis < region.reach.size() && region.normals.empty(); ++axis) {
    const double length = std::fabs(box_.axes[axis].upper - box_.axes[axis].lower);
    if (std::isfinite(region.reach[axis]) && std::isfinite(length))
      expected *= std::fmin(1, 2 * region.reach[axis] / length);
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
    if (mass_[k] <= 0.1 * tolerance.of(answer.value)) continue;
    if (elsewhere == nullptr ? met(region)
                             : wide(region) || drawn_to(region, *elsewhere) || makes_up(answer, mass_[k]))
      continue;
    if (answer.converged()) answer.reason = Reason::doubtful;
    answer.truncation = infinity;
    answer.why += (answer.why.empty() ? "" : "; ") +
                  std::string("the formula changes in a small part of the box, where few points lie");
    return;
  }
}

}  // namespace tessera::quadrature
