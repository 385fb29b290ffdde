// SPDX-License-Identifier: Apache-2.0
// Adaptive cubature with Genz and Malik's rule of degree 7 and the rule of degree 5 in it, for two to
// twelve variables. All regions are kept. In each round those are split whose errors are so large that the
// errors of the others together are three quarters of what is allowed: whoever splits the worst region again
// and again would have to split every one of them, too, but this gives all cores work, and none has to sort.
// Which ones does not depend on how many cores there are. Products of Gauss-Kronrod pairs take the place of
// the rule in few variables (gauss_kronrod_product.hpp).
#pragma once
#include "ops/integrate/rules/domain.hpp"

namespace tessera::quadrature {

inline constexpr int most_cubature_dimensions = 12;

struct Region {
  double centre[most_cubature_dimensions], half[most_cubature_dimensions];
  int axis;  // along which f bends most
};

struct RegionResult {
  double value, error;
  double magnitude;    // the integral of |f|
  double weighed;      // with the sizes of the weights, of which some are negative: what rounding goes by
  double unconfirmed;  // the error, as long as no other region's value speaks for it
};

// What a half may claim whose value and the other half's are together `moved` away from the whole's.
double believed_error(double error, double others_error, double moved, double wholes_error);

// The rule's points and weights for d variables, in units of half a region's width.
class GenzMalik {
 public:
  explicit GenzMalik(int dimensions);

  static constexpr const char* name() { return "genz-malik"; }
  int dimensions() const { return dimensions_; }
  std::size_t points() const { return points_; }
  // One coordinate of all points of a region.
  void place(double centre, double half, int axis, double* u) const;
  // From the values there; also the axis to split.
  RegionResult conclude(const double* y, Region& region) const;
  // What a half may claim whose value and the other half's are together `moved` away from the whole's.
  double believed(const RegionResult& half, const RegionResult& other, double moved,
                  double wholes_error) const {
    return believed_error(half.error, other.error, moved, wholes_error);
  }
  // Regions to begin with, where axes come in parts.
  static constexpr std::size_t most_first_regions() { return 4096; }

 private:
  int dimensions_;
  std::size_t points_;
  std::vector<double> offsets_;  // axis by axis
};

// Down to which error regions are halved, where the tolerance allows so much of the value.
double aim_of(double allowed, double rounding, double relative, double magnitude, double error);

// `first_cut`: where each axis is cut at first. Two runs with different ones see different points.
Answer genz_malik(Cube& cube, const Tolerance& tolerance, int threads = 0, double first_cut = 0.5);

}  // namespace tessera::quadrature
