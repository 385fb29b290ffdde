// SPDX-License-Identifier: Apache-2.0
// The trapezoid rule in the double exponential variable: where f is analytic inside the range, each halving
// of the step doubles the number of right digits.
#pragma once
#include "ops/integrate/quadrature/double_exponential.hpp"

namespace tessera::quadrature {

// One part of the range, refined from outside so that several parts can share a tolerance.
class TanhSinh {
 public:
  TanhSinh(Sampler& sampler, const Part& part);

  bool refine();  // halves the step; false where that cannot be done
  double value() const { return step_ * sum_; }
  double magnitude() const { return step_ * sum_abs_; }
  // What the last halving changed, what the next one may change, and what lies beyond the outermost points.
  double change() const { return change_; }
  double expected_change() const;
  double truncation() const { return expected_change() + beyond_[0] + beyond_[1]; }
  double rounding() const;
  int level() const { return level_; }
  std::int64_t points() const { return points_; }

  // Trouble that no smaller step mends, or `converged` where there is none; and where it is.
  Reason trouble() const { return trouble_; }
  double where() const { return where_; }
  // f swings up to an infinite limit without falling off.
  bool swings() const { return swings_; }

  const Part& part() const { return *part_; }
  const DoubleExponential& variable() const { return variable_; }
  double reach(int side) const { return reach_[side]; }  // |t| beyond which nothing counts
  double beyond(int side) const { return beyond_[side]; }
  // By how much the integral of f may be off through the rounding within f; 0 where f does not tell.
  double error_of_values() const;

 private:
  struct First;
  void first_level();
  void settle(int side, const First& first, double coarse_sum);
  void find_beyond(int side, const First& first, std::size_t last);
  void find_blind(int side, const First& first);
  bool add(std::span<const double> x, std::span<const double> distance, std::span<const double> weight,
           std::size_t first_side);
  void vary(int side, std::span<const double> x, std::span<const double> distance, std::span<const double> y);
  void give_up(Reason reason, double where);

  Sampler& sampler_;
  const Part* part_;
  DoubleExponential variable_;
  double step_ = first_step, sum_ = 0, sum_abs_ = 0, change_ = infinity, change_before_ = infinity;
  double variation_ = 0, squares_ = 0;  // of f·x from point to point, on the last level
  double reach_[2] = {0, 0}, beyond_[2] = {0, 0};
  int level_ = 0;
  std::int64_t points_ = 0;
  bool swings_ = false;
  Reason trouble_ = Reason::converged;
  double where_ = nothing;
};

// The error of a sum that is due to rounded abscissae, in units of the last place: `steps` is the sum of
// |f(x[i]) - f(x[i-1])|·|x[i]|, `squares` that of its squares. Many small ones partly cancel.
double abscissa_error(double steps, double squares);

// By this rule alone.
Answer tanh_sinh(const Integrand& f, const Range& range, const Tolerance& tolerance = {},
                 const Limits& limits = {}, std::span<const double> points = {});

// Refines the parts where that helps most, until all together meet the tolerance or have `deepest` levels.
// `known`: the integral over what is not among the parts.
Answer refine(std::span<TanhSinh> parts, const Tolerance& tolerance, int least, int deepest,
              const Answer& known);

}  // namespace tessera::quadrature
