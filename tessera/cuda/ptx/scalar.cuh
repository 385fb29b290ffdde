// SPDX-License-Identifier: Apache-2.0
// Instructions of single threads: bytes and halves packed in a word, a minimum that tells which, clocks.
#pragma once
#include <cstdint>

namespace tessera::cuda::ptx {

// sum + Σ the four bytes of `bytes`, 0 to 255, times those of `weights`, -128 to 127.
__device__ __forceinline__ std::uint32_t signed_dot(std::uint32_t bytes, std::uint32_t weights,
                                                    std::uint32_t sum) {
  std::uint32_t out;
  asm("dp4a.u32.s32 %0, %1, %2, %3;" : "=r"(out) : "r"(bytes), "r"(weights), "r"(sum));
  return out;
}

// `first` and `second` between 0 and 255 in the lowest bytes, above them the lower half of `rest`.
__device__ __forceinline__ std::uint32_t packed_bytes(std::int32_t first, std::int32_t second,
                                                      std::uint32_t rest) {
  std::uint32_t out;
  asm("cvt.pack.sat.u8.s32.b32 %0, %1, %2, %3;" : "=r"(out) : "r"(second), "r"(first), "r"(rest));
  return out;
}

// Halves: to and from floats, to the nearest, ties to even; and two in a word. Numbers below 2^-14 are kept.
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

// A minimum that tells which of the two it was, in one instruction where the hardware has it (DPX, 9.0).
// The lesser; of equals the first.
__device__ __forceinline__ int lesser(int first, int second, bool& is_first) {
#if __CUDA_ARCH__ >= 900
  return __vibmin_s32(first, second, &is_first);
#else
  is_first = first <= second;
  return is_first ? first : second;
#endif
}

// What a thread may ask the hardware about: the time, and where it runs.
// Nanoseconds; the same clock on every multiprocessor, whatever their frequency.
__device__ __forceinline__ std::uint64_t nanoseconds() {
  std::uint64_t out;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(out));
  return out;
}

__device__ __forceinline__ unsigned processor() {
  unsigned out;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(out));
  return out;
}

}  // namespace tessera::cuda::ptx
