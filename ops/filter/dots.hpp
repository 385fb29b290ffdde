// SPDX-License-Identifier: Apache-2.0
// Sums of products of whole numbers that share a word: four bytes with four, two of 16 bits with two bytes.
// An instruction each on GPUs.
#pragma once
#include <cstdint>
#include "tessera/core/thread.hpp"

namespace tessera::filter {
inline namespace TESSERA_UNIT {

SIMT std::uint32_t byte_of(std::uint32_t word, int b) { return word >> (8 * b) & 0xffu; }

// sum + Σ the four bytes of each.
SIMT std::uint32_t dot4(std::uint32_t bytes, std::uint32_t weights, std::uint32_t sum) {
#if defined(__CUDA_ARCH__)
  return __dp4a(bytes, weights, sum);
#else
  SIMT_UNROLL
  for (int b = 0; b < 4; ++b) sum += byte_of(bytes, b) * byte_of(weights, b);
  return sum;
#endif
}

// sum + Σ the halves of `pair` times bytes 0 and 1 of the weights, or 2 and 3.
SIMT std::uint32_t dot2(std::uint32_t pair, std::uint32_t weights, bool upper, std::uint32_t sum) {
#if defined(__CUDA_ARCH__)
  return upper ? __dp2a_hi(pair, weights, sum) : __dp2a_lo(pair, weights, sum);
#else
  const int b = upper ? 2 : 0;
  return sum + (pair & 0xffffu) * byte_of(weights, b) + (pair >> 16) * byte_of(weights, b + 1);
#endif
}

// The lower halves of two words in one.
SIMT std::uint32_t lower_halves(std::uint32_t a, std::uint32_t b) {
#if defined(__CUDA_ARCH__)
  return __byte_perm(a, b, 0x5410);
#else
  return (a & 0xffffu) | b << 16;
#endif
}

// The lower byte of each of four halves, or the higher one.
SIMT std::uint32_t bytes_of_halves(std::uint32_t a, std::uint32_t b, bool higher) {
#if defined(__CUDA_ARCH__)
  return __byte_perm(a, b, higher ? 0x7531 : 0x6420);
#else
  const int first = higher ? 1 : 0;
  return byte_of(a, first) | byte_of(a, first + 2) << 8 | byte_of(b, first) << 16 |
         byte_of(b, first + 2) << 24;
#endif
}

// Byte 2 of each of four words.
SIMT std::uint32_t third_bytes(const std::uint32_t (&from)[4]) {
#if defined(__CUDA_ARCH__)
  return __byte_perm(__byte_perm(from[0], from[1], 0x0062), __byte_perm(from[2], from[3], 0x0062), 0x5410);
#else
  return byte_of(from[0], 2) | byte_of(from[1], 2) << 8 | byte_of(from[2], 2) << 16 |
         byte_of(from[3], 2) << 24;
#endif
}

}  // namespace TESSERA_UNIT
}  // namespace tessera::filter
