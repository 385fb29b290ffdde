// SPDX-License-Identifier: Apache-2.0
// Genz and Malik's rule of degree 7 with the embedded rule of degree 5, for two to twelve variables. The
// estimates from its sums are in region_estimate-inl.h, which GPUs share.
#pragma once
#include "ops/integrate/quadrature/several_variables/adaptive_cubature.hpp"

namespace tessera::quadrature {

inline constexpr int max_cubature_dimensions = 12;

class GenzMalik : public RegionPoints {
 public:
  explicit GenzMalik(int dimensions);

  static constexpr const char* name() { return "genz-malik"; }
  // Returns the result from the values at a region's points; sets the axis to split.
  RegionResult summarize(const double* y, Region& region) const;
  // Returns the error that a half may report if both halves' sum differs from the parent's value by `moved`.
  double believed(const RegionResult& half, const RegionResult& other, double moved,
                  double wholes_error) const;
  static constexpr std::size_t max_first_regions() { return 4096; }  // including cuts at breaks
};

}  // namespace tessera::quadrature
