// SPDX-License-Identifier: Apache-2.0
// Quasi-random integration for many variables: sixteen independently scrambled Sobol' sequences, whose
// scatter is the error. Points are first drawn together where |f| is large (a grid on each axis, refined
// as Lepage's VEGAS does), for which only sums along the axes are needed.
//
// Sums are added in an order that the number of threads does not change: the same bits for any of them.
#pragma once
#include <memory>
#include "box.hpp"

namespace tessera::quadrature {

class QuasiRandom {
 public:
  // Throws Error for more variables than Sobol' points are known for. threads 0: all.
  QuasiRandom(Cube& cube, const Tolerance& tolerance, int threads, std::uint64_t seed = 1);
  ~QuasiRandom();

  // Doubles the points as often as so many evaluations allow. Reason::evaluations: more of them would help.
  Answer advance(std::int64_t evaluations);

 private:
  class Sampling;
  std::unique_ptr<Sampling> sampling_;
};

Answer quasi_random(Cube& cube, const Tolerance& tolerance, int threads = 0, std::uint64_t seed = 1);

}  // namespace tessera::quadrature
