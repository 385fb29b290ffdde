// SPDX-License-Identifier: Apache-2.0
// Conversions between samples and sums, bitwise identical on every device. Arithmetic on bytes packed four to
// a word; border indices.
#pragma once
#include <cmath>
#include <cstdint>
#include <string>
#include <type_traits>
#include "tessera/image_view.hpp"
#include "tessera/core/array/element.hpp"
#include "tessera/core/device/thread.hpp"
#if defined(__CUDACC__)
#include "tessera/cuda/ptx/scalar.cuh"
#endif

namespace tessera::imaging {

// Returns the border of this name, by its name here or in OpenCV, SciPy, NumPy or NPP. Throws Error.
Border border_named(const std::string& word);

inline namespace TESSERA_UNIT {

// The element types for which picture kernels are compiled. A trace of 16-bit samples would show nothing new.
#if defined(TESSERA_TRACED)
using PictureElements = Types<std::uint8_t, float>;
#else
using PictureElements = Types<std::uint8_t, std::uint16_t, std::int16_t, f16, float>;
#endif

inline constexpr int from_constant = -1;

// Returns the index of the pixel at position i on an axis of n pixels. Mirror borders are even and periodic.
SIMT int border_index(int i, int n, Border border) {
  if (i >= 0 && i < n) return i;
  if (border == Border::constant) return from_constant;
  if (border == Border::replicate) return i < 0 ? 0 : n - 1;
  if (border == Border::wrap) {
    const int rest = i % n;
    return rest < 0 ? rest + n : rest;
  }
  const bool twice = border == Border::reflect;  // the pixel at the edge is repeated
  const int period = twice ? 2 * n : 2 * n - 2;
  if (period == 0) return 0;
  int rest = (twice && i < 0 ? -1 - i : i < 0 ? -i : i) % period;
  if (rest >= n) rest = twice ? period - 1 - rest : period - rest;
  return rest;
}

SIMT float half_to_float(f16 half) {
#if defined(__CUDA_ARCH__)
  return cuda::ptx::half_to_float(half.bits);
#else
  return static_cast<float>(half);
#endif
}

SIMT f16 float_to_half(float value) {
#if defined(__CUDA_ARCH__)
  return {cuda::ptx::float_to_half(value)};
#else
  return f16::from(value);
#endif
}

// A is the type of the sums: std::int32_t or float.
template <class A, class T>
SIMT A number(T sample) {
  if constexpr (std::is_same_v<T, f16>) return static_cast<A>(half_to_float(sample));
  else return static_cast<A>(sample);
}

// The type in which a block keeps a sample: float for halves, which are summed as floats.
template <class T>
using Kept = std::conditional_t<std::is_same_v<T, f16>, float, T>;

template <class T>
SIMT Kept<T> kept(T sample) {
  if constexpr (std::is_same_v<T, f16>) return half_to_float(sample);
  else return sample;
}

template <class A>
SIMT A weight_as(std::int32_t stored) {
  if constexpr (std::is_same_v<A, float>) return __builtin_bit_cast(float, stored);
  else return stored;
}

template <class T>
inline constexpr int min_value = 0;
template <>
inline constexpr int min_value<std::int16_t> = -32768;
template <class T>
inline constexpr int max_value = 255;
template <>
inline constexpr int max_value<std::uint16_t> = 65535;
template <>
inline constexpr int max_value<std::int16_t> = 32767;

// Rounds to the nearest integer, ties to even, within the type's range; NaN gives the type's minimum. Adding
// 1.5·2^23 to a float below 2^22 makes its last place a unit.
template <class To>
SIMT To rounded(float value) {
  constexpr float least = static_cast<float>(min_value<To>), most = static_cast<float>(max_value<To>);
  const float above = value > least ? value : least;
  const float within = above < most ? above : most;
  return static_cast<To>(__builtin_bit_cast(std::int32_t, within + 12582912.0f) - 0x4b400000);
}

template <class To>
SIMT To saturated(std::int32_t value) {
  const std::int32_t above = value > min_value<To> ? value : min_value<To>;
  return static_cast<To>(above < max_value<To> ? above : max_value<To>);
}

// Converts a float to a sample: unchanged, or rounded to the nearest value of the type.
template <class To>
SIMT To sample_of(float value) {
  if constexpr (std::is_same_v<To, float>) return value;
  else if constexpr (std::is_same_v<To, f16>) return float_to_half(value);
  else return rounded<To>(value);
}

// Bytes packed four to a word: permutations and sums of products. Each takes an instruction or two on GPUs,
// and is plain C++ elsewhere.
SIMT std::uint32_t byte_of(std::uint32_t word, int b) { return word >> (8 * b) & 0xffu; }

SIMT std::int32_t as_byte(std::int32_t value) { return saturated<std::uint8_t>(value); }

// Selects bytes of two words: places 0 to 3 are in the first, 4 to 7 in the second, the lowest digit first.
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

// Returns the places of four consecutive bytes of two words, from place `first` on.
SIMT std::uint32_t places_from(int first) { return 0x3210u + 0x1111u * static_cast<std::uint32_t>(first); }

// Returns the word that begins `bits` above the lowest bit of `low` and continues in `high`; bits: 0 to 24.
SIMT std::uint32_t funnel_shifted(std::uint32_t low, std::uint32_t high, int bits) {
#if defined(__CUDA_ARCH__)
  return __funnelshift_r(low, high, static_cast<unsigned>(bits));
#else
  return static_cast<std::uint32_t>((std::uint64_t{high} << 32 | low) >> bits);
#endif
}

// Transposes four samples of each of four rows: word i of the result has sample i of every row.
SIMT Bytes16 transposed(std::uint32_t a, std::uint32_t b, std::uint32_t c, std::uint32_t d) {
  const std::uint32_t ab = permuted(a, b, 0x5140), cd = permuted(c, d, 0x5140);
  const std::uint32_t ab_high = permuted(a, b, 0x7362), cd_high = permuted(c, d, 0x7362);
  return {{permuted(ab, cd, 0x5410), permuted(ab, cd, 0x7632), permuted(ab_high, cd_high, 0x5410),
           permuted(ab_high, cd_high, 0x7632)}};
}

// Packs the lower halves of two words into one.
SIMT std::uint32_t lower_halves(std::uint32_t a, std::uint32_t b) { return permuted(a, b, 0x5410); }

// Returns the lower byte of each of four halves, or the higher one.
SIMT std::uint32_t bytes_of_halves(std::uint32_t a, std::uint32_t b, bool higher) {
  return permuted(a, b, higher ? 0x7531 : 0x6420);
}

// Packs byte 2 of each of four words.
SIMT std::uint32_t third_bytes(const std::uint32_t (&from)[4]) {
  return permuted(permuted(from[0], from[1], 0x0062), permuted(from[2], from[3], 0x0062), 0x5410);
}

// Returns sum + Σ of the products of corresponding bytes.
SIMT std::uint32_t dot4(std::uint32_t bytes, std::uint32_t weights, std::uint32_t sum) {
#if defined(__CUDA_ARCH__)
  return __dp4a(bytes, weights, sum);
#else
  SIMT_UNROLL
  for (int b = 0; b < 4; ++b) sum += byte_of(bytes, b) * byte_of(weights, b);
  return sum;
#endif
}

// Returns sum + Σ of the products of corresponding bytes, with signed weights, modulo 2^32.
SIMT std::uint32_t signed_dot4(std::uint32_t bytes, std::uint32_t weights, std::uint32_t sum) {
#if defined(__CUDA_ARCH__)
  return cuda::ptx::dp4a_u8s8(bytes, weights, sum);
#else
  SIMT_UNROLL
  for (int b = 0; b < 4; ++b) {
    const auto weight = static_cast<std::int8_t>(byte_of(weights, b));
    sum += byte_of(bytes, b) * static_cast<std::uint32_t>(std::int32_t{weight});
  }
  return sum;
#endif
}

// Returns sum + Σ of the halves of `pair` times bytes 0 and 1 of the weights, or bytes 2 and 3 if `upper`.
SIMT std::uint32_t dot2(std::uint32_t pair, std::uint32_t weights, bool upper, std::uint32_t sum) {
#if defined(__CUDA_ARCH__)
  return upper ? __dp2a_hi(pair, weights, sum) : __dp2a_lo(pair, weights, sum);
#else
  const int b = upper ? 2 : 0;
  return sum + (pair & 0xffffu) * byte_of(weights, b) + (pair >> 16) * byte_of(weights, b + 1);
#endif
}

// Returns sum · 256 by a byte permutation, because the multipliers are busy with sums of products.
SIMT std::uint32_t times_256(std::uint32_t sum) { return permuted(sum, 0u, 0x2104); }

// Saturates two numbers to bytes, below the lower half of `rest`.
SIMT std::uint32_t packed_bytes(std::int32_t first, std::int32_t second, std::uint32_t rest) {
#if defined(__CUDA_ARCH__)
  return cuda::ptx::cvt_pack_sat_u8(first, second, rest);
#else
  return static_cast<std::uint32_t>(as_byte(first)) | static_cast<std::uint32_t>(as_byte(second)) << 8 |
         rest << 16;
#endif
}

// Returns 2^23 + byte b of the word: the byte becomes the lowest mantissa bits of a float.
SIMT float byte_above(std::uint32_t word, int b) {
  return __builtin_bit_cast(float, permuted(word, 0x4b000000u, 0x7440u + static_cast<std::uint32_t>(b)));
}

}  // namespace TESSERA_UNIT
}  // namespace tessera::imaging
