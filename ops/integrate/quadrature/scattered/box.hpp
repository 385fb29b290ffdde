// SPDX-License-Identifier: Apache-2.0
// Integrals over several variables: the integrand for many points at once, and the box that holds them.
//
// Rules work on the unit cube; each axis maps it to its range, which may be infinite.
#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <span>
#include <string>
#include <vector>
#include "../integrand.hpp"

namespace tessera::quadrature {

inline constexpr int max_dimensions = 32;

// points[axis·count + i] is one coordinate of point i. Called by several threads concurrently.
using BatchIntegrand =
    std::function<void(std::span<const double> points, std::size_t count, std::span<double> y)>;

struct Box {
  std::vector<Range> axes;
  std::vector<std::vector<double>> breaks = {};  // per axis: abscissae where f is not smooth
  int dimensions() const { return static_cast<int>(axes.size()); }
};

// One axis: maps u in (0, 1) to x, with dx/du. Infinite ranges are mapped around 0 or from their finite
// limit.
struct Axis {
  Range range;

  void map(double u, double& x, double& slope) const;
  double inverse(double x) const;
  bool linear() const { return range.finite(); }
};

// Evaluates f on the cube, counts all evaluations, and enforces the caps.
class UnitCube {
 public:
  UnitCube(BatchIntegrand f, const Box& box, const Limits& limits);

  int dimensions() const { return static_cast<int>(axes_.size()); }
  const std::vector<Axis>& axes() const { return axes_; }
  // The initial cuts of an axis: 0, the breaks, 1.
  const std::vector<double>& edges(std::size_t axis) const { return edges_[axis]; }
  // Computes values of f·dx/du. May be called by several threads, but only inside within_caps(). `placed`:
  // the coordinates of linear axes are x already.
  //
  // Values that are not finite are replaced: at a pole by 0 (it may be integrable), at a removable
  // singularity such as that of sin(x)/x by the value beside it, and far out on an infinite axis, where f may
  // be inf/inf, by 0 if f has vanished before. Otherwise f has no value in a part of the box, or grows
  // without limit, and there is no integral: undefined().
  void values(std::span<const double> u, std::size_t count, std::span<double> y, bool placed = false) const;

  // Returns false if a cap ended the work: its results are incomplete, and further evaluations are refused.
  template <class Work>
  bool within_caps(const Work& work) const {
    try {
      if (!exhausted()) work();
    } catch (const CapReached&) {
    }
    return !exhausted();
  }
  // True if the caps allow so many more evaluations.
  bool allows(std::int64_t more) const;
  double seconds_left() const;
  bool exhausted() const { return reached_ != Reason::converged; }
  Reason cap() const {
    if (exhausted()) return reached_;
    return seconds_left() > 0 ? Reason::evaluations : Reason::time;
  }
  void count(std::int64_t evaluations) const { evaluations_ += evaluations; }  // evaluations made elsewhere
  std::int64_t evaluations() const { return evaluations_; }
  std::int64_t evaluations_left() const { return exhausted() ? 0 : limits_.evaluations - evaluations_; }
  const Limits& limits() const { return limits_; }

  std::int64_t holes() const { return holes_; }  // points without a finite value
  bool undefined() const { return undefined_; }
  // Searches scattered points for a part of the box without values, for a device that only counts points
  // without a finite value. The place found is the same for every device.
  void look_for_holes() const;
  // Marks the answer if f has no value in a part of the box.
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
  // looks_ counts evaluations around holes. Only those beyond free_looks count against the cap, because other
  // devices make fewer of them and must return the same results.
  static constexpr std::int64_t free_looks = 8192;
  mutable std::atomic<std::int64_t> evaluations_{0}, looks_{0}, holes_{0};
  mutable std::atomic<Reason> reached_{Reason::converged};  // the cap
  mutable std::atomic<bool> undefined_{false}, looked_{false};
  mutable std::mutex noting_;
  mutable std::vector<double> gap_;  // a point of a part without values
  mutable Reason gap_reason_ = Reason::non_finite;
};

// Calls work(0) … work(parts - 1) on up to `threads` threads (0: all). Threads take parts dynamically, so a
// part's work must depend on its number alone.
void share_parts(int threads, std::size_t parts, const std::function<void(std::size_t)>& work);

// A rule that cuts the box into regions, on a device other than the CPU.
struct ByRegions {
  std::function<Answer(UnitCube&, const Tolerance&)> rule;  // none: on the CPU
  std::string where;                                        // the device in messages: " on the GPU"
};

}  // namespace tessera::quadrature
