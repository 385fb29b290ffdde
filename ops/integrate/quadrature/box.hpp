// SPDX-License-Identifier: Apache-2.0
// Integrals over several variables: the integrand for many points at once, and the box they lie in.
//
// Rules work on the unit cube. Each axis has a map from there to its range, which may be infinite.
// Installed: for programs.
#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <span>
#include <string>
#include <vector>
#include "integrand.hpp"

namespace tessera::quadrature {

inline constexpr int most_dimensions = 32;

// points[axis·count + i] is one coordinate of point i. Called from several threads at once.
using BatchIntegrand =
    std::function<void(std::span<const double> points, std::size_t count, std::span<double> y)>;

struct Box {
  std::vector<Range> axes;
  std::vector<std::vector<double>> breaks = {};  // of each axis: where f is known not to be smooth
  int dimensions() const { return static_cast<int>(axes.size()); }
};

// One axis: u in (0, 1) to x, and dx/du. Infinite ranges are mapped around 0, or from their limit on.
struct Axis {
  Range range;

  void map(double u, double& x, double& slope) const;
  double inverse(double x) const;
  bool linear() const { return range.finite(); }
};

// Evaluates on the cube, counts, and keeps to the caps: whatever is evaluated through it counts.
class UnitCube {
 public:
  UnitCube(BatchIntegrand f, const Box& box, const Limits& limits);

  int dimensions() const { return static_cast<int>(axes_.size()); }
  const std::vector<Axis>& axes() const { return axes_; }
  // Where an axis is cut before anything is known: 0, the breaks, 1.
  const std::vector<double>& edges(std::size_t axis) const { return edges_[axis]; }
  // Values of f·dx/du. May be called by several threads. `placed`: coordinates of linear axes are x already.
  // To be called within_caps().
  //
  // Where f has no finite value, a pole counts as 0 (it may be integrable), a point like that of sin(x)/x has
  // the value beside it, and far out on an infinite axis, where inf/inf has none, a faded f is 0. Elsewhere f
  // has no value in a part of the box, or grows without limit, and there is no integral: undefined().
  void values(std::span<const double> u, std::size_t count, std::span<double> y, bool placed = false) const;

  // False: a cap ended the work, whose results are incomplete; nothing is evaluated any more.
  template <class Work>
  bool within_caps(const Work& work) const {
    try {
      if (!exhausted()) work();
    } catch (const CapReached&) {
    }
    return !exhausted();
  }
  // Whether so many more evaluations are allowed now.
  bool allows(std::int64_t more) const;
  double seconds_left() const;
  bool exhausted() const { return reached_ != Reason::converged; }
  Reason cap() const {
    if (exhausted()) return reached_;
    return seconds_left() > 0 ? Reason::evaluations : Reason::time;
  }
  void count(std::int64_t evaluations) const { evaluations_ += evaluations; }  // that were made elsewhere
  std::int64_t evaluations() const { return evaluations_; }
  std::int64_t evaluations_left() const { return exhausted() ? 0 : limits_.evaluations - evaluations_; }
  const Limits& limits() const { return limits_; }

  std::int64_t holes() const { return holes_; }  // points without a finite value
  bool undefined() const { return undefined_; }
  // Looks at scattered points for a part without values: for a device that only counts its holes. The same
  // place is found whichever device asks.
  void look_for_holes() const;
  // Where f has no value in a part of the box, the answer says so.
  void judge(Answer& answer) const;

 private:
  struct CapReached {};

  void evaluate(std::span<const double> points, std::size_t count, std::span<double> y,
                std::atomic<std::int64_t>& counted) const;
  double value_at(const std::vector<double>& x) const;
  bool faded(const std::vector<double>& x) const;
  bool find_value(const std::vector<double>& x, double& y) const;
  void note_gap(const std::vector<double>& x, double value, bool first) const;

  BatchIntegrand f_;
  std::vector<Axis> axes_;
  std::vector<std::vector<double>> edges_;
  Limits limits_;
  std::chrono::steady_clock::time_point start_;
  // Of the rule's points; of looks around holes. Only those beyond so many count against the cap: devices
  // make fewer of them, and must do the same.
  static constexpr std::int64_t free_looks = 8192;
  mutable std::atomic<std::int64_t> evaluations_{0}, looks_{0}, holes_{0};
  mutable std::atomic<Reason> reached_{Reason::converged};  // the cap
  mutable std::atomic<bool> undefined_{false}, looked_{false};
  mutable std::mutex noting_;
  mutable std::vector<double> gap_;  // a point of a part without values
  mutable Reason gap_reason_ = Reason::non_finite;
};

// Calls work(0) … work(parts - 1) on up to `threads` threads (0: all). Whichever thread comes next takes the
// next part, so what a part does must depend on its number alone.
void share_parts(int threads, std::size_t parts, const std::function<void(std::size_t)>& work);

// A rule that cuts the box into regions, where it runs elsewhere than on the processors. `first_cut`: where
// each axis is cut at first.
struct ByRegions {
  std::function<Answer(UnitCube&, const Tolerance&, double first_cut)> rule;  // none: the processors'
  std::string where;  // of it, in words: " on the GPU"
};

}  // namespace tessera::quadrature
