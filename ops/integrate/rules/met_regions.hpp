// SPDX-License-Identifier: Apache-2.0
// Whether a rule's points have met what a formula's text tells of. Rules agree about a needle that both miss;
// points in it are the only evidence that the answer holds it.
#pragma once
#include <atomic>
#include <memory>
#include "ops/integrate/rules/domain.hpp"

namespace tessera::quadrature {

class MetRegions {
 public:
  MetRegions(const ManyValues& f, const Box& box);  // f and the box are kept by reference
  MetRegions(const MetRegions&) = delete;

  // f; its points are counted, where there is anything to count.
  const ManyValues& values() const { return values_; }
  void forget();  // before another rule
  bool met(const HiddenRegion& region) const;
  std::int64_t evaluations() const { return evaluations_; }  // of its own

  // What was not met, and counts, is not part of the answer: it is not claimed. Of points that were computed
  // elsewhere nothing is known but the axes they were drawn from.
  void doubt(Answer& answer, const Tolerance& tolerance, const std::vector<Axis>* elsewhere = nullptr) const;
  // A rule that has not done with a ridge may know little of it, wherever it has met it.
  void widen(Answer& answer, const Tolerance& tolerance) const;

 private:
  void count(std::span<const double> points, std::size_t count) const;
  bool wide(const HiddenRegion& region, const std::vector<Axis>& axes) const;
  bool crossed(const HiddenRegion& region, std::size_t axis, int stretch) const;
  bool makes_up(const Answer& answer, double mass) const;

  const ManyValues& f_;
  const Box& box_;
  ManyValues values_;
  std::vector<double> mass_;  // of each region, about
  // A ridge goes on: points that are drawn together at one place of it know little of it. It is cut into
  // stretches along an axis, as far as it crosses the box.
  static constexpr int most_stretches = 16;
  std::vector<std::size_t> along_;        // the axis, of each region; none: as many as there are axes
  std::vector<std::uint32_t> stretches_;  // those that it crosses, a bit each
  std::unique_ptr<std::atomic<int>[]> points_;
  std::unique_ptr<std::atomic<std::uint32_t>[]> seen_;  // stretches with points
  std::int64_t evaluations_ = 0;
};

}  // namespace tessera::quadrature
