// SPDX-License-Identifier: Apache-2.0
// The double exponential change of variable (Takahasi and Mori): x(t) such that f(x(t))·x'(t) falls double
// exponentially on both sides, for any integrable singularity at an end and any integrable decay. It is
// tanh-sinh on a finite range, exp-sinh on a half-infinite one, sinh-sinh on an infinite one.
//
// Points are stored as distances to the nearer end, computed directly, because 1 - tanh(u) would cancel.
#pragma once
#include <span>
#include "ops/integrate/quadrature/integrand.hpp"

namespace tessera::quadrature {

enum class Shape { between, half, everywhere };

struct Node {
  double distance;  // from the nearer end of a range of length 1; if both limits are infinite: from 0
  double weight;    // dx/dt
};
Node double_exponential_node(Shape shape, double t);

// The change of variable for one part of the range. t < 0 lies towards the lower limit (or towards the finite
// one if the other is infinite), t > 0 towards the other.
class DoubleExponential {
 public:
  explicit DoubleExponential(const Part& part);

  Shape shape() const { return shape_; }
  const char* name() const;  // name of the rule in this variable
  double length() const { return length_; }
  double reach(int side) const { return reach_[side]; }  // |t| beyond which distances over- or underflow
  double end(int side) const;                            // the limit, maybe infinite
  // The distance below which x cannot be told from this side's end; 0: the end is infinite, or the integrand
  // takes distances.
  double blind(int side) const { return blind_[side]; }

  // Computes x and the integrand's distance argument for nodes of the unit range on one side.
  void place(int side, std::span<const double> unit_distance, std::span<double> x,
             std::span<double> distance) const;

 private:
  Range range_;
  Shape shape_;
  double length_ = 1;
  double reach_[2], blind_[2], nearest_[2];
  int end_of_side_[2];  // 0: the range's lower limit, 1: the upper one
};

// Tables of nodes at t = first_step·(1, 2, 3 …) for level 0, and at the odd multiples of first_step/2^level
// for the others. side 0: t < 0, side 1: t > 0. Made once, and never destroyed.
struct Nodes {
  std::vector<double> distance, weight;
};
inline constexpr double first_step = 0.25;
inline constexpr int deepest_level = 11, last_look = 4;  // last_look: the last level that covers all x
const Nodes& level_nodes(Shape shape, int side, int level);

// Nodes of the Gauss-Kronrod rule of 21 points in a cell of t from k·first_cell to (k+1)·first_cell.
inline constexpr double first_cell = 0.5;
struct CellNodes {
  double distance[21], weight[21];
};
const CellNodes& cell_nodes(Shape shape, int k);

// The trapezoid rule in the double exponential variable: if f is analytic inside the range, each halving of
// the step doubles the number of right digits.

// One part of the range, refined from outside so that several parts can share a tolerance.
class TanhSinh {
 public:
  TanhSinh(Sampler& sampler, const Part& part);

  bool refine();  // halves the step; false: that cannot be done
  double value() const { return step_ * sum_; }
  double magnitude() const { return step_ * sum_abs_; }
  // Return the last halving's change, the expected next change, and the latter plus beyond(0) and beyond(1).
  double change() const { return change_; }
  double expected_change() const;
  double truncation() const { return expected_change() + beyond_[0] + beyond_[1]; }
  double rounding() const;
  int level() const { return level_; }
  std::int64_t points() const { return points_; }

  // Return the problem that no smaller step solves, or `converged`; and its place.
  Reason trouble() const { return trouble_; }
  double where() const { return where_; }

  const Part& part() const { return *part_; }
  const DoubleExponential& variable() const { return variable_; }
  double reach(int side) const { return reach_[side]; }  // |t| beyond which terms are negligible
  // Returns the largest distance between neighbouring points. On an infinite range: that share of their
  // distance from its finite end or 0, or of 1 if that is more, as far as 1e6.
  double gap() const;
  double beyond(int side) const { return beyond_[side]; }
  // Returns the error of the integral from rounding within f; 0 if f does not report it.
  double error_of_values();

 private:
  struct First;
  void first_level();
  bool lasts(int side, const First& first) const;
  void settle(int side, const First& first, double magnitude);
  bool accounted(int side, const First& first, std::size_t last, std::size_t numbers) const;
  void find_beyond(int side, const First& first, std::size_t last);
  void find_blind(int side, const First& first);
  bool add(std::span<const double> x, std::span<const double> distance, std::span<const double> weight,
           std::span<double> y, std::size_t first_side);
  void vary(int side, std::span<const double> x, std::span<const double> distance, std::span<const double> y);
  void give_up(Reason reason, double where);

  Sampler& sampler_;
  const Part* part_;
  DoubleExponential variable_;
  double step_ = first_step, sum_ = 0, sum_abs_ = 0, change_ = infinity, change_before_ = infinity;
  double variation_ = 0, squares_ = 0;  // changes of f from point to point, times x, on the last level
  double reach_[2] = {0, 0}, beyond_[2] = {0, 0};
  double looks_[2] = {0, 0};  // |t| up to which the first levels look for terms that are not negligible
  int level_ = 0;
  std::int64_t points_ = 0;
  Reason trouble_ = Reason::converged;
  double where_ = nan;
};

// Returns the error of a sum that is due to rounded abscissae, in units of the last place: `steps` is the sum
// of |f(x[i]) - f(x[i-1])|·|x[i]|, `squares` that of its squares, unless they overflow or underflow. Many
// small ones partly cancel.
double abscissa_error(double steps, double squares);

// Integrates by this rule alone.
Answer tanh_sinh(const Integrand& f, const Range& range, const Tolerance& tolerance = {},
                 const Limits& limits = {}, std::span<const double> points = {});

// Refines the parts where that helps most, until their sum meets the tolerance or all have `deepest` levels.
// `known`: the integral outside of the parts.
Answer refine(std::span<TanhSinh> parts, const Tolerance& tolerance, int least, int deepest,
              const Answer& known = nothing());

}  // namespace tessera::quadrature
