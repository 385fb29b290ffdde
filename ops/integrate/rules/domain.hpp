// SPDX-License-Identifier: Apache-2.0
// Integrals over several variables: the integrand for many points at once, and the box they lie in.
//
// Rules work on the unit cube. Each axis has a map from there: as it is, from an infinite range, or
// drawn together around a peak.
// Installed: for programs.
#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <span>
#include <vector>
#include "ops/integrate/quadrature/answer.hpp"
#include "ops/integrate/quadrature/integrand.hpp"

namespace tessera::quadrature {

inline constexpr int most_dimensions = 32;

// points[axis·count + i] is one coordinate of point i. Called from several threads at once.
using ManyValues =
    std::function<void(std::span<const double> points, std::size_t count, std::span<double> y)>;

// A small part of a box of which a formula's text tells: one that a comparison cuts off, a needle, a ridge.
struct HiddenRegion {
  std::vector<double> inside, outside;  // a point of it, and one beside it
  double share = 0;                     // of the box, about
  std::vector<double> reach;            // on each axis from the point inside, about; infinite: it goes on
  // Between pairs of parallel planes, as far as they are known: |normal·(x - inside)| ≤ 1.
  std::vector<std::vector<double>> normals = {};

  bool holds(const double* x, std::size_t stride = 1) const;  // a coordinate of the point every `stride`
};

struct Box {
  std::vector<Range> axes;
  std::vector<HiddenRegion> hidden = {};  // those that scattered points miss
  int dimensions() const { return static_cast<int>(axes.size()); }
};

// One axis: u in (0, 1) to x, and dx/du.
struct Axis {
  Range range;
  double centre = 0, width = 0;  // of a peak; width 0: none
  double from = 0, to = 1;       // of the variable before it is drawn together
  std::vector<Axis> parts = {};  // of the range, one after another: each has the same share of u

  static Axis of(const Range& range);  // no peak; infinite ranges around 0 or the limit
  static Axis around(const Range& range, double centre, double width);
  static Axis of_parts(const Range& range, std::vector<Axis> parts);
  void map(double u, double& x, double& slope) const;
  double place_of(double x) const;                                              // its u
  bool plain() const { return range.finite() && width == 0 && parts.empty(); }  // x is linear in u
  std::size_t count() const { return parts.empty() ? 1 : parts.size(); }
};

// Plain axes of the same ranges; `parted`: in the same parts, less drawn together.
std::vector<Axis> less_drawn_together(const std::vector<Axis>& axes, bool parted);

// Whether f has no value in a whole part of the box around x, of which it has none: rather than at a point,
// on a line, or far out, where inf·0 gives none although nothing is left to integrate.
bool in_a_gap(const ManyValues& f, const std::vector<Axis>& axes, std::span<const double> x);

// Evaluates on the cube, counts, and keeps to the caps.
class Cube {
 public:
  Cube(ManyValues f, std::vector<Axis> axes, const Limits& limits);

  int dimensions() const { return static_cast<int>(axes_.size()); }
  std::vector<Axis>& axes() { return axes_; }
  const std::vector<Axis>& axes() const { return axes_; }
  // values of f·dx/du; where f is not finite, 0 is given and the point counted as a hole. May be called by
  // several threads.
  void values(std::span<const double> u, std::size_t count, std::span<double> y) const {
    values_at(u, count, y, false);
  }
  // The same; `placed`: coordinates of plain axes are x already.
  void values_at(std::span<const double> u, std::size_t count, std::span<double> y, bool placed) const;
  // Whether so many more evaluations are allowed now.
  bool allows(std::int64_t more) const;
  double seconds_left() const;
  Reason cap() const { return late() ? Reason::time : Reason::evaluations; }
  void count(std::int64_t evaluations) { evaluations_ += evaluations; }
  std::int64_t evaluations() const { return evaluations_; }
  std::int64_t holes() const { return holes_; }
  // Where f has no value in a part of the box, the answer becomes that of no value. `always`: also for a
  // single point.
  void judge(Answer& answer, bool always = false) const;
  bool undefined() const { return undefined_; }
  // For whoever computes elsewhere and met holes: looks here where they are.
  void look_for_holes() const;
  const Limits& limits() const { return limits_; }

 private:
  bool late() const { return !(seconds_left() > 0); }
  void note_holes(std::span<const double> u, bool placed, const std::vector<std::size_t>& at,
                  std::size_t count) const;

  ManyValues f_;
  std::vector<Axis> axes_;
  Limits limits_;
  std::chrono::steady_clock::time_point start_;
  std::int64_t evaluations_ = 0;
  mutable std::atomic<std::int64_t> holes_{0};
  // too_large_: f is a number, and times the length of its part of the box none.
  mutable std::atomic<bool> undefined_{false}, too_large_{false}, looked_{false};
  mutable std::mutex noting_;
  // The first ones, by their coordinates, whichever thread met them; and those that any device tells.
  mutable std::vector<double> gap_, hole_, told_gap_, told_hole_;
};

// A rule that cuts the cube into regions; `first_cut`: where each axis is cut at first. The caller's may
// compute elsewhere than on the processors.
struct ByRegions {
  std::function<Answer(Cube&, const Tolerance&, double first_cut)> rule;  // none: the processors'
  std::string where;                                                      // of it, in words: " on the GPU"
};

}  // namespace tessera::quadrature
