// SPDX-License-Identifier: Apache-2.0
// Sobol' points, and quasi-random integration by them.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include "box.hpp"

namespace tessera::quadrature {

// Sobol' points. Each is computed from its number alone, so any thread or device can compute any of them.
// They are scrambled (Owen) by hashing, so repetitions with other seeds give valid error bars.

inline constexpr int max_sobol_dimensions = 21;

// Returns coordinate `axis`, in (0, 1), of point `index` of the repetition with this seed.
double sobol(std::uint32_t index, int axis, std::uint64_t seed);

// Computes the coordinates of points [first, first + count) on one axis.
void sobol(std::uint32_t first, std::size_t count, int axis, std::uint64_t seed, double* out);

// Quasi-random integration for many variables: sixteen independently scrambled Sobol' sequences, whose
// scatter gives the error. Points are first concentrated where |f| is large, by a grid on each axis that is
// refined as in Lepage's VEGAS from sums along the axes.
//
// The order of additions does not depend on the number of threads, and neither do the bits.

class QuasiRandom {
 public:
  // Throws Error for more than max_sobol_dimensions variables. threads 0: all.
  QuasiRandom(UnitCube& cube, const Tolerance& tolerance, int threads, std::uint64_t seed = 1);
  ~QuasiRandom();

  // Doubles the points as often as the evaluations allow. Reason::evaluations: more of them would help.
  Answer advance(std::int64_t evaluations);

 private:
  class Sampling;
  std::unique_ptr<Sampling> sampling_;
};

}  // namespace tessera::quadrature
