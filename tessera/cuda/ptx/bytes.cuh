// SPDX-License-Identifier: Apache-2.0
// Four bytes with four signed ones; and whole numbers cut to bytes as they are packed.
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

}  // namespace tessera::cuda::ptx
