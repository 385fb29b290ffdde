// SPDX-License-Identifier: Apache-2.0
// The double exponential (tanh-sinh) rule on each of two or three axes: many digits where f is analytic
// inside the box, however singular on its faces, edges and corners.
#pragma once
#include "box.hpp"

namespace tessera::quadrature {

inline constexpr int most_product_dimensions = 3;

class TanhSinhProduct {
 public:
  // Throws Error for other than 2 or 3 variables.
  TanhSinhProduct(Cube& cube, const Tolerance& tolerance, int threads);

  // Halves the step as often as so many evaluations allow. Reason::evaluations: more of them would help.
  Answer advance(std::int64_t evaluations);

 private:
  double truncation_estimate() const;

  Cube& cube_;
  Tolerance tolerance_;
  int threads_;
  double step_ = 0.25;
  double pace_ = 0;  // seconds for each point so far: what takes too long is not begun
  Answer last_;
  std::vector<double> values_, moved_;  // at each step so far
};

Answer tanh_sinh_product(Cube& cube, const Tolerance& tolerance, int threads = 0);

}  // namespace tessera::quadrature
