// SPDX-License-Identifier: Apache-2.0
// mma.sync of 16-bit floats and of doubles, and ldmatrix, with operands where PTX's manual has them.
#pragma once
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cmath>
#include <cstring>
#include "cuda.hpp"

namespace tessera::cuda::ptx {

template <class Element>
void mma_half(float (&d)[4], const std::uint32_t (&a)[4], std::uint32_t b0, std::uint32_t b1) {
  struct Operands {
    Element a[4][2], b[2][2];
  };
  const int lane = Thread{}.lane();
  auto& all = emulated::shown<Operands>();
  const std::uint32_t b[2] = {b0, b1};
  std::memcpy(all[lane].a, a, sizeof a);
  std::memcpy(all[lane].b, b, sizeof b);
  __syncwarp();
  for (int i = 0; i < 4; ++i) {
    const int group = lane / 4, col = lane % 4 * 2 + i % 2;
    for (int k = 0; k < 16; ++k) {
      const Element x = all[group * 4 + k % 8 / 2].a[k / 8 * 2 + i / 2][k % 2],
                    y = all[col * 4 + k % 8 / 2].b[k / 8][k % 2];
      d[i] += static_cast<float>(x) * static_cast<float>(y);
    }
  }
  __syncwarp();
}
inline void mma_bf16(float (&d)[4], const std::uint32_t (&a)[4], std::uint32_t b0, std::uint32_t b1) {
  mma_half<__nv_bfloat16>(d, a, b0, b1);
}
inline void mma_f16(float (&d)[4], const std::uint32_t (&a)[4], std::uint32_t b0, std::uint32_t b1) {
  mma_half<__half>(d, a, b0, b1);
}

template <bool transpose>
void ldmatrix_x4(std::uint32_t (&to)[4], const void* row) {
  const int lane = Thread{}.lane(), group = lane / 4, pair = lane % 4 * 2;
  auto& rows = emulated::shown<const void*>();
  rows[lane] = row;
  __syncwarp();
  for (int matrix = 0; matrix < 4; ++matrix) {
    std::uint16_t both[2];
    for (int e = 0; e < 2; ++e) {
      const auto* from = static_cast<const std::uint16_t*>(rows[8 * matrix + (transpose ? pair + e : group)]);
      both[e] = from[transpose ? group : pair + e];
    }
    std::memcpy(&to[matrix], both, sizeof both);
  }
  __syncwarp();
}

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
