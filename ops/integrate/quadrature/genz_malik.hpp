// SPDX-License-Identifier: Apache-2.0
// Genz and Malik's rule of degree 7 with the embedded rule of degree 5, for two to twelve variables. The
// estimates from its sums are in region_estimate-inl.h, which GPUs share.
#pragma once
#include "ops/integrate/quadrature/adaptive_cubature.hpp"

namespace tessera::quadrature {

inline constexpr int max_cubature_dimensions = 12;

// The rule's points and weights for d variables, in units of half a region's width.
class GenzMalik {
 public:
  explicit GenzMalik(int dimensions);

  static constexpr const char* name() { return "genz-malik"; }
  int dimensions() const { return dimensions_; }
  std::size_t points() const { return points_; }
  // Writes one coordinate of all points of a region.
  void place(double centre, double half, int axis, double* u) const;
  // Returns the result from the values at a region's points; sets the axis to split.
  RegionResult summarize(const double* y, Region& region) const;
  // Returns the error that a half may report if both halves' sum differs from the parent's value by `moved`.
  double believed(const RegionResult& half, const RegionResult& other, double moved,
                  double wholes_error) const;
  static constexpr std::size_t max_first_regions() { return 4096; }  // including cuts at breaks

 private:
  int dimensions_;
  std::size_t points_;
  std::vector<double> offsets_;  // axis by axis
};

Answer genz_malik(UnitCube& cube, const Tolerance& tolerance, int threads = 0);

}  // namespace tessera::quadrature
