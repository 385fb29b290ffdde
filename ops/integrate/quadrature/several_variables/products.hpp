// SPDX-License-Identifier: Apache-2.0
// Rules that are products of rules of one variable, for two or three variables: tanh-sinh on each axis, and
// adaptive cubature with Gauss-Kronrod pairs.
#pragma once
#include "../scattered/box.hpp"
#include "ops/integrate/quadrature/several_variables/adaptive_cubature.hpp"

namespace tessera::quadrature {

// The double exponential (tanh-sinh) rule on each of two or three axes. It gives many digits if f is analytic
// inside the box, however singular on its faces, edges and corners.

inline constexpr int max_product_dimensions = 3;

class TanhSinhProduct {
 public:
  // Throws Error unless there are 2 or 3 variables.
  TanhSinhProduct(UnitCube& cube, const Tolerance& tolerance, int threads);

  // Halves the step as often as the evaluations allow. Reason::evaluations: more of them would help.
  Answer advance(std::int64_t evaluations);

 private:
  double truncation_estimate() const;

  UnitCube& cube_;
  Tolerance tolerance_;
  int threads_;
  double step_ = 0.25;
  double pace_ = 0;  // seconds per point so far: a step that takes too long is not started
  Answer last_;
  std::vector<double> values_, moved_;  // at each step so far
};

// Adaptive cubature with the product of Gauss-Kronrod pairs of 7 and 15 points on each of two or three axes.
// A region takes 225 or 3375 points (Genz and Malik's rule 21 or 39), and is exact up to degree 23 in each
// variable: if f is smooth and many digits are requested, far fewer regions suffice. Regions are chosen and
// halved as for Genz and Malik's rule.

inline constexpr int max_kronrod_dimensions = 3;
inline constexpr double kronrod_relative = 1e-8;  // up to here `auto` takes it instead of Genz and Malik's

class KronrodProduct : public RegionPoints {
 public:
  // Throws Error for other than 2 or 3 variables.
  explicit KronrodProduct(int dimensions);

  static constexpr const char* name() { return "gauss-kronrod product"; }
  // Returns the result from the values at the points; sets the axis to split, whose pairs differ most.
  RegionResult summarize(const double* y, Region& region) const;
  // Returns the error that a half may report if both halves' sum differs from the parent's value by `moved`.
  double believed(const RegionResult& half, const RegionResult& other, double moved,
                  double wholes_error) const;
  // Returns the maximum number of initial regions, cuts at breaks included.
  std::size_t max_first_regions() const { return dimensions_ == 2 ? 1024 : 128; }

 private:
  struct GridDifference {
    double plain = 0, sharp = 0;
  };
  GridDifference apart_along(const double* y, std::size_t axis) const;
  double hidden_along(const double* y, std::size_t axis) const;
  std::size_t lines() const { return weights_.size() / line_points; }

  static constexpr std::size_t line_points = 15;
  std::vector<double> weights_;       // weights of the grid's points in a region of volume 1
  std::vector<double> line_weights_;  // weights of the lines along any axis
  double edge_[line_points] = {};     // extrapolates the values on a line to its upper edge
};

}  // namespace tessera::quadrature
