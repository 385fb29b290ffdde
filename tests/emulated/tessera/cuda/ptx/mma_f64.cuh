// SPDX-License-Identifier: Apache-2.0
// mma.sync of doubles, with operands where PTX's manual has them.
#pragma once
#include <cmath>
#include <cstring>
#include "cuda.hpp"

namespace tessera::cuda::ptx {

inline void mma_f64(double (&d)[4], const double (&a)[8], const double (&b)[4]) {
  struct Operands {
    double a[8], b[4];
  };
  const int lane = Thread{}.lane();
  auto& all = emulated::shown<Operands>();
  std::memcpy(all[lane].a, a, sizeof a);
  std::memcpy(all[lane].b, b, sizeof b);
  __syncwarp();
  for (int i = 0; i < 4; ++i) {
    const int group = lane / 4, col = lane % 4 * 2 + i % 2;
    for (int k = 0; k < 16; ++k)
      d[i] = std::fma(all[group * 4 + k % 4].a[k / 4 * 2 + i / 2], all[col * 4 + k % 4].b[k / 4], d[i]);
  }
  __syncwarp();
}

}  // namespace tessera::cuda::ptx
