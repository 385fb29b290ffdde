// SPDX-License-Identifier: Apache-2.0
// Bytes summed two at a time as halves. A byte b among the low bits of a half is the number b·2^-24: below
// 2^-14 a half's bits count 2^-24 each, and up to 2^-13 they go on doing so. So a byte needs no conversion,
// sums of up to 2048 are exact, and the bits of a sum that is not negative are the sum itself. On processors
// the same sums are taken as integers.
#pragma once
#include <cstdint>
#include "tessera/core/thread.hpp"
#if defined(__CUDACC__)
#include "tessera/cuda/ptx/half.cuh"
#endif

namespace tessera::filter {
inline namespace TESSERA_UNIT {

inline constexpr int most_pair_sum = 2048;

// Bytes 0 and 2 of a word, or 1 and 3, in the halves of a word.
SIMT std::uint32_t even_bytes(std::uint32_t word) { return word & 0x00ff00ffu; }
SIMT std::uint32_t odd_bytes(std::uint32_t word) {
#if defined(__CUDA_ARCH__)
  return __byte_perm(word, 0, 0x4341);
#else
  return word >> 8 & 0x00ff00ffu;
#endif
}
// A word of bytes from the lowest bytes of its halves.
SIMT std::uint32_t joined_bytes(std::uint32_t even, std::uint32_t odd) {
#if defined(__CUDA_ARCH__)
  return __byte_perm(even, odd, 0x6240);
#else
  return (even & 0x00ff00ffu) | (odd & 0x00ff00ffu) << 8;
#endif
}

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800

// A weight of at most 8, twice.
SIMT std::uint32_t pair_weight(std::int32_t weight) {
  return cuda::ptx::half_of_float(static_cast<float>(weight)) * 0x00010001u;
}
SIMT std::uint32_t pair_add(std::uint32_t weight, std::uint32_t bytes, std::uint32_t sum) {
  return cuda::ptx::fused_halves(weight, bytes, sum);
}
// Sums, or their magnitudes, between 0 and 255.
SIMT std::uint32_t pair_bytes(std::uint32_t sum, bool absolute) {
  const std::uint32_t positive = absolute ? sum & 0x7fff7fffu : cuda::ptx::larger_halves(sum, 0u);
  return cuda::ptx::smaller_halves(positive, 0x00ff00ffu);
}

#else

SIMT std::uint32_t pair_of(std::int32_t low, std::int32_t high) {
  return (static_cast<std::uint32_t>(low) & 0xffffu) | static_cast<std::uint32_t>(high) << 16;
}
SIMT std::int32_t low_of(std::uint32_t pair) { return static_cast<std::int16_t>(pair & 0xffffu); }
SIMT std::int32_t high_of(std::uint32_t pair) { return static_cast<std::int16_t>(pair >> 16); }

SIMT std::uint32_t pair_weight(std::int32_t weight) { return pair_of(weight, weight); }
SIMT std::uint32_t pair_add(std::uint32_t weight, std::uint32_t bytes, std::uint32_t sum) {
  return pair_of(low_of(sum) + low_of(weight) * low_of(bytes),
                 high_of(sum) + high_of(weight) * high_of(bytes));
}
SIMT std::uint32_t pair_bytes(std::uint32_t sum, bool absolute) {
  const auto clamped = [absolute](std::int32_t value) {
    const std::int32_t positive = value < 0 ? (absolute ? -value : 0) : value;
    return positive < 255 ? positive : 255;
  };
  return pair_of(clamped(low_of(sum)), clamped(high_of(sum)));
}

#endif

}  // namespace TESSERA_UNIT
}  // namespace tessera::filter
