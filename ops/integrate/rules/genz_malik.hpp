// SPDX-License-Identifier: Apache-2.0
// Adaptive cubature with Genz and Malik's rule of degree 7 and the rule of degree 5 in it, for two to
// twelve variables. Regions are kept as a list and split many at a time, those of the largest errors, so
// that all cores, or a GPU, have work; which ones does not depend on how many cores there are.
#pragma once
#include "ops/integrate/rules/domain.hpp"

namespace tessera::quadrature {

inline constexpr int most_cubature_dimensions = 12;

struct Region {
  double centre[most_cubature_dimensions], half[most_cubature_dimensions];
  double value, error;
  double magnitude;  // the integral of |f|
  double weighed;    // with the sizes of the weights, of which some are negative: what rounding goes by
  int axis;  // along which f bends most
};

// The rule's points and weights for d variables, in units of half a region's width.
class GenzMalik {
 public:
  explicit GenzMalik(int dimensions);

  int dimensions() const { return dimensions_; }
  std::size_t points() const { return offsets_.size() / static_cast<std::size_t>(dimensions_); }
  // Coordinates of all points of a region, axis by axis, `count` apart.
  void place(const Region& region, std::span<double> u, std::size_t count, std::size_t first) const;
  // Value, error, and the axis to split.
  void conclude(std::span<const double> y, Region& region) const;

 private:
  int dimensions_;
  std::vector<double> offsets_;  // point by point
  double weight_[5], embedded_[4];
};

// `first_cut`: where each axis is cut at first. Two runs with different ones see different points.
Answer genz_malik(Cube& cube, const Tolerance& tolerance, int threads = 0, double first_cut = 0.5);

}  // namespace tessera::quadrature
