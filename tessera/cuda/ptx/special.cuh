// SPDX-License-Identifier: Apache-2.0
// What a thread may ask the hardware about: the time, and where it runs.
#pragma once
#include <cstdint>

namespace tessera::cuda::ptx {

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
