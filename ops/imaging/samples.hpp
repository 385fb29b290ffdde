// SPDX-License-Identifier: Apache-2.0
// Samples as numbers to sum, and sums as samples, with the same bits on every device.
#pragma once
#include <cmath>
#include <cstdint>
#include <type_traits>
#include "tessera/core/element.hpp"
#include "tessera/core/thread.hpp"
#if defined(__CUDACC__)
#include "tessera/cuda/ptx/scalar.cuh"
#endif

namespace tessera::imaging {
inline namespace TESSERA_UNIT {

SIMT float half_to_float(f16 half) {
#if defined(__CUDA_ARCH__)
  return cuda::ptx::float_of_half(half.bits);
#else
  return static_cast<float>(half);
#endif
}

SIMT f16 float_to_half(float value) {
#if defined(__CUDA_ARCH__)
  return {cuda::ptx::half_of_float(value)};
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

// As a block keeps a sample: a half as the float that it will be summed as.
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
inline constexpr int least_of = 0;
template <>
inline constexpr int least_of<std::int16_t> = -32768;
template <class T>
inline constexpr int most_of = 255;
template <>
inline constexpr int most_of<std::uint16_t> = 65535;
template <>
inline constexpr int most_of<std::int16_t> = 32767;

// To the nearest whole number, ties to even, within the type's range; NaN gives the type's least. Below 2^22
// a float's last place is a whole number as soon as 1.5·2^23 is added.
template <class To>
SIMT To rounded(float value) {
  constexpr float least = static_cast<float>(least_of<To>), most = static_cast<float>(most_of<To>);
  const float above = value > least ? value : least;
  const float within = above < most ? above : most;
  return static_cast<To>(__builtin_bit_cast(std::int32_t, within + 12582912.0f) - 0x4b400000);
}

template <class To>
SIMT To saturated(std::int32_t value) {
  const std::int32_t above = value > least_of<To> ? value : least_of<To>;
  return static_cast<To>(above < most_of<To> ? above : most_of<To>);
}

// A float as a sample: as it is, or to the nearest value of the type.
template <class To>
SIMT To sample_of(float value) {
  if constexpr (std::is_same_v<To, float>) return value;
  else if constexpr (std::is_same_v<To, f16>) return float_to_half(value);
  else return rounded<To>(value);
}

}  // namespace TESSERA_UNIT
}  // namespace tessera::imaging
