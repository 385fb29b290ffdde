// SPDX-License-Identifier: Apache-2.0
// Quasi-random integration for many variables: sixteen independently scrambled Sobol' sequences, whose
// scatter is the error. Points are first drawn together where |f| is large (a grid on each axis, refined
// as Lepage's VEGAS does), for which only sums along the axes are needed.
//
// Sums are added in an order that the number of threads does not change: the same bits for any of them.
#pragma once
#include "ops/integrate/rules/domain.hpp"

namespace tessera::quadrature {

struct QuasiRandom {
  bool importance = true;
  std::uint64_t seed = 1;
  int threads = 0;  // 0: all
  // Whether what terms larger than any that was met would have brought is part of the error. Where the value
  // only checks another, the scatter alone is stricter.
  bool tails = true;
};

Answer quasi_random(Cube& cube, const Tolerance& tolerance, const QuasiRandom& how = {});

}  // namespace tessera::quadrature
