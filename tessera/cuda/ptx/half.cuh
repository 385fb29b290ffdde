// SPDX-License-Identifier: Apache-2.0
// Halves: to and from floats, to the nearest, ties to even; and two in a word. Numbers below 2^-14 are kept.
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

__device__ __forceinline__ std::uint32_t fused_halves(std::uint32_t a, std::uint32_t b, std::uint32_t sum) {
  std::uint32_t out;
  asm("fma.rn.f16x2 %0, %1, %2, %3;" : "=r"(out) : "r"(a), "r"(b), "r"(sum));
  return out;
}

#if __CUDA_ARCH__ >= 800
__device__ __forceinline__ std::uint32_t larger_halves(std::uint32_t a, std::uint32_t b) {
  std::uint32_t out;
  asm("max.f16x2 %0, %1, %2;" : "=r"(out) : "r"(a), "r"(b));
  return out;
}

__device__ __forceinline__ std::uint32_t smaller_halves(std::uint32_t a, std::uint32_t b) {
  std::uint32_t out;
  asm("min.f16x2 %0, %1, %2;" : "=r"(out) : "r"(a), "r"(b));
  return out;
}
#endif

}  // namespace tessera::cuda::ptx
