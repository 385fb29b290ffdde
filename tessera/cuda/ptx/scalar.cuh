// SPDX-License-Identifier: Apache-2.0
// Per-thread instructions: packed 8-bit and half arithmetic, DPX, special registers.
#pragma once
#include <cstdint>

namespace tessera::cuda::ptx {

// Returns sum plus the dot product of four unsigned bytes and four signed ones.
__device__ __forceinline__ std::uint32_t dp4a_u8s8(std::uint32_t bytes, std::uint32_t weights,
                                                   std::uint32_t sum) {
  std::uint32_t out;
  asm("dp4a.u32.s32 %0, %1, %2, %3;" : "=r"(out) : "r"(bytes), "r"(weights), "r"(sum));
  return out;
}

// Packs `first` and `second`, saturated to 0 … 255, into the lowest two bytes, and the lower half of `rest`
// above.
__device__ __forceinline__ std::uint32_t cvt_pack_sat_u8(std::int32_t first, std::int32_t second,
                                                         std::uint32_t rest) {
  std::uint32_t out;
  asm("cvt.pack.sat.u8.s32.b32 %0, %1, %2, %3;" : "=r"(out) : "r"(second), "r"(first), "r"(rest));
  return out;
}

// Conversions round to nearest, ties to even. f16 subnormals are preserved (no flush to zero).
__device__ __forceinline__ float half_to_float(std::uint16_t bits) {
  float out;
  asm("cvt.f32.f16 %0, %1;" : "=f"(out) : "h"(bits));
  return out;
}

__device__ __forceinline__ std::uint16_t float_to_half(float value) {
  std::uint16_t out;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(out) : "f"(value));
  return out;
}

__device__ __forceinline__ std::uint32_t hfma2(std::uint32_t a, std::uint32_t b, std::uint32_t sum) {
  std::uint32_t out;
  asm("fma.rn.f16x2 %0, %1, %2, %3;" : "=r"(out) : "r"(a), "r"(b), "r"(sum));
  return out;
}

#if __CUDA_ARCH__ >= 800
__device__ __forceinline__ std::uint32_t hmax2(std::uint32_t a, std::uint32_t b) {
  std::uint32_t out;
  asm("max.f16x2 %0, %1, %2;" : "=r"(out) : "r"(a), "r"(b));
  return out;
}

__device__ __forceinline__ std::uint32_t hmin2(std::uint32_t a, std::uint32_t b) {
  std::uint32_t out;
  asm("min.f16x2 %0, %1, %2;" : "=r"(out) : "r"(a), "r"(b));
  return out;
}
#endif

// Returns the minimum, by one DPX instruction from compute capability 9.0 on. On a tie is_first is true.
__device__ __forceinline__ int vibmin_s32(int first, int second, bool& is_first) {
#if __CUDA_ARCH__ >= 900
  return __vibmin_s32(first, second, &is_first);
#else
  is_first = first <= second;
  return is_first ? first : second;
#endif
}

// Returns %globaltimer, in nanoseconds.
__device__ __forceinline__ std::uint64_t globaltimer() {
  std::uint64_t out;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(out));
  return out;
}

__device__ __forceinline__ unsigned smid() {
  unsigned out;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(out));
  return out;
}

}  // namespace tessera::cuda::ptx
