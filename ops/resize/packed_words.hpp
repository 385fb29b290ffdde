// SPDX-License-Identifier: Apache-2.0
// Bytes that stay four to a word: sums of their products with signed bytes, and words of four sums.
#pragma once
#include "bytes.hpp"
#include "sample.hpp"
#if defined(__CUDACC__)
#include "tessera/cuda/ptx/bytes.cuh"
#endif

namespace tessera::resize {
inline namespace TESSERA_UNIT {

// sum + Σ the four bytes times the four weights, which have signs. Modulo 2^32: what digits add up to fits.
SIMT std::uint32_t signed_dot(std::uint32_t bytes, std::uint32_t weights, std::uint32_t sum) {
#if defined(__CUDA_ARCH__)
  return cuda::ptx::signed_dot(bytes, weights, sum);
#else
  SIMT_UNROLL
  for (int b = 0; b < 4; ++b) {
    const auto weight = static_cast<std::int8_t>(weights >> 8 * b & 255u);
    sum += (bytes >> 8 * b & 255u) * static_cast<std::uint32_t>(std::int32_t{weight});
  }
  return sum;
#endif
}

// 256 times as much, where bytes are moved, not numbers: sums of products have the multipliers.
SIMT std::uint32_t times_256(std::uint32_t sum) { return picked(sum, 0u, 0x2104); }

// Between 0 and 255 each, below what `rest` has in its lower half.
SIMT std::uint32_t packed_bytes(std::int32_t first, std::int32_t second, std::uint32_t rest) {
#if defined(__CUDA_ARCH__)
  return cuda::ptx::packed_bytes(first, second, rest);
#else
  return static_cast<std::uint32_t>(as_byte(first)) | static_cast<std::uint32_t>(as_byte(second)) << 8 |
         rest << 16;
#endif
}

// The places of four bytes of two words, from place `first` on.
SIMT std::uint32_t places_from(int first) { return 0x3210u + 0x1111u * static_cast<std::uint32_t>(first); }

// 2^23 + a byte of the word, which is the byte among the last places of a float.
SIMT float byte_above(std::uint32_t word, int b) {
  return __builtin_bit_cast(float, picked(word, 0x4b000000u, 0x7440u + static_cast<std::uint32_t>(b)));
}

}  // namespace TESSERA_UNIT
}  // namespace tessera::resize
