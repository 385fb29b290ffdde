// SPDX-License-Identifier: Apache-2.0
// Bytes that stay four to a word: how they are moved between words, and sums of their products. An
// instruction or two each on GPUs; plain C++ elsewhere.
#pragma once
#include <cstdint>
#include "ops/imaging/samples.hpp"
#if defined(__CUDACC__)
#include "tessera/cuda/ptx/scalar.cuh"
#endif

namespace tessera::imaging {
inline namespace TESSERA_UNIT {

SIMT std::uint32_t byte_of(std::uint32_t word, int b) { return word >> (8 * b) & 0xffu; }

SIMT std::int32_t as_byte(std::int32_t value) { return saturated<std::uint8_t>(value); }

// Bytes of two words by their places: 0 to 3 of the first, 4 to 7 of the second, the lowest digit first.
SIMT std::uint32_t permuted(std::uint32_t a, std::uint32_t b, std::uint32_t places) {
#if defined(__CUDA_ARCH__)
  return __byte_perm(a, b, places);
#else
  const std::uint64_t both = std::uint64_t{b} << 32 | a;
  std::uint32_t out = 0;
  for (int i = 0; i < 4; ++i)
    out |= static_cast<std::uint32_t>(both >> 8 * (places >> 4 * i & 7u) & 255u) << 8 * i;
  return out;
#endif
}

// The places of four bytes of two words, from place `first` on.
SIMT std::uint32_t places_from(int first) { return 0x3210u + 0x1111u * static_cast<std::uint32_t>(first); }

// The word that begins `bits` above the lowest bit of `low`, and goes on in `high`; 0 to 24.
SIMT std::uint32_t funnel_shifted(std::uint32_t low, std::uint32_t high, int bits) {
#if defined(__CUDA_ARCH__)
  return __funnelshift_r(low, high, static_cast<unsigned>(bits));
#else
  return static_cast<std::uint32_t>((std::uint64_t{high} << 32 | low) >> bits);
#endif
}

// Four samples of each of four rows: word i of the result has sample i of all of them.
SIMT Bytes16 transposed(std::uint32_t a, std::uint32_t b, std::uint32_t c, std::uint32_t d) {
  const std::uint32_t ab = permuted(a, b, 0x5140), cd = permuted(c, d, 0x5140);
  const std::uint32_t ab_high = permuted(a, b, 0x7362), cd_high = permuted(c, d, 0x7362);
  return {{permuted(ab, cd, 0x5410), permuted(ab, cd, 0x7632), permuted(ab_high, cd_high, 0x5410),
           permuted(ab_high, cd_high, 0x7632)}};
}

// The lower halves of two words in one.
SIMT std::uint32_t lower_halves(std::uint32_t a, std::uint32_t b) { return permuted(a, b, 0x5410); }

// The lower byte of each of four halves, or the higher one.
SIMT std::uint32_t bytes_of_halves(std::uint32_t a, std::uint32_t b, bool higher) {
  return permuted(a, b, higher ? 0x7531 : 0x6420);
}

// Byte 2 of each of four words.
SIMT std::uint32_t third_bytes(const std::uint32_t (&from)[4]) {
  return permuted(permuted(from[0], from[1], 0x0062), permuted(from[2], from[3], 0x0062), 0x5410);
}

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

// sum + Σ the four bytes times the four weights, which have signs. Modulo 2^32: what digits add up to fits.
SIMT std::uint32_t signed_dot4(std::uint32_t bytes, std::uint32_t weights, std::uint32_t sum) {
#if defined(__CUDA_ARCH__)
  return cuda::ptx::signed_dot(bytes, weights, sum);
#else
  SIMT_UNROLL
  for (int b = 0; b < 4; ++b) {
    const auto weight = static_cast<std::int8_t>(byte_of(weights, b));
    sum += byte_of(bytes, b) * static_cast<std::uint32_t>(std::int32_t{weight});
  }
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

// 256 times as much, where bytes are moved, not numbers: sums of products have the multipliers.
SIMT std::uint32_t times_256(std::uint32_t sum) { return permuted(sum, 0u, 0x2104); }

// Two numbers saturated to bytes, below what `rest` has in its lower half.
SIMT std::uint32_t packed_bytes(std::int32_t first, std::int32_t second, std::uint32_t rest) {
#if defined(__CUDA_ARCH__)
  return cuda::ptx::packed_bytes(first, second, rest);
#else
  return static_cast<std::uint32_t>(as_byte(first)) | static_cast<std::uint32_t>(as_byte(second)) << 8 |
         rest << 16;
#endif
}

// 2^23 + a byte of the word, which is the byte among the last places of a float.
SIMT float byte_above(std::uint32_t word, int b) {
  return __builtin_bit_cast(float, permuted(word, 0x4b000000u, 0x7440u + static_cast<std::uint32_t>(b)));
}

}  // namespace TESSERA_UNIT
}  // namespace tessera::imaging
