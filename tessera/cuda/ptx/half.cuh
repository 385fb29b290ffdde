// SPDX-License-Identifier: Apache-2.0
// Halves and floats: to the nearest, ties to even.
#pragma once
#include <cstdint>

namespace tessera::cuda::ptx {

__device__ __forceinline__ float float_of_half(std::uint16_t bits) {
  float out;
  asm("cvt.f32.f16 %0, %1;" : "=f"(out) : "h"(bits));
  return out;
}

__device__ __forceinline__ std::uint16_t half_of_float(float value) {
  std::uint16_t out;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(out) : "f"(value));
  return out;
}

}  // namespace tessera::cuda::ptx
