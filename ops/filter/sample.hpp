// SPDX-License-Identifier: Apache-2.0
// Samples as numbers to sum, and sums as samples, the same bits on every device: docs/filter.md.
#pragma once
#include <cmath>
#include <cstdint>
#include <type_traits>
#include "setting.hpp"
#include "tessera/core/element.hpp"
#if defined(__CUDACC__)
#include "tessera/cuda/ptx/half.cuh"
#endif

namespace tessera::filter {
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

SIMT std::int32_t add_product(std::int32_t weight, std::int32_t x, std::int32_t sum) {
  return sum + weight * x;
}
SIMT float add_product(float weight, float x, float sum) { return std::fma(weight, x, sum); }

// fetch(i, j): the sample under tap i, j.
template <class A, class Fetch>
SIMT A sum_along_row(const Taps& taps, const std::int32_t* weights, int i, const Fetch& fetch, A sum) {
  SIMT_NO_UNROLL
  for (int j = 0; j < taps.cols; ++j)
    if (weights[j] != 0) sum = add_product(weight_as<A>(weights[j]), number<A>(fetch(i, j)), sum);
  return sum;
}

template <class A, class Fetch>
SIMT A sum_of(const Taps& taps, const Fetch& fetch) {
  A sum = 0;
  if (taps.separable) {
    SIMT_NO_UNROLL
    for (int i = 0; i < taps.rows; ++i)
      if (taps.column[i] != 0)
        sum =
            add_product(weight_as<A>(taps.column[i]), sum_along_row<A>(taps, taps.row, i, fetch, A{0}), sum);
  } else {
    SIMT_NO_UNROLL
    for (int i = 0; i < taps.rows; ++i)
      sum = sum_along_row<A>(taps, taps.weight + i * taps.cols, i, fetch, sum);
  }
  return sum;
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

SIMT std::int32_t whole_result(const Finish& f, std::int32_t sum) {
  const std::int32_t magnitude = f.absolute && sum < 0 ? -sum : sum;
  return ((magnitude + f.half) >> f.shift) + f.whole_offset;
}

template <class To>
SIMT To finished(const Finish& f, float sum) {
  const float magnitude = f.absolute ? std::fabs(sum) : sum;
  const float value = f.scaled ? std::fma(magnitude, f.scale, f.offset) : magnitude;
  if constexpr (std::is_same_v<To, float>) return value;
  else if constexpr (std::is_same_v<To, f16>) return float_to_half(value);
  else return rounded<To>(value);
}

template <class To>
SIMT To finished(const Finish& f, std::int32_t sum) {
  if (!f.whole) return finished<To>(f, static_cast<float>(sum));
  const std::int32_t value = whole_result(f, sum);
  if constexpr (std::is_same_v<To, float>) return static_cast<float>(value);
  else if constexpr (std::is_same_v<To, f16>) return float_to_half(static_cast<float>(value));
  else return saturated<To>(value);
}

// The sum to the sample `at` of an array of the element `to`.
template <class A>
SIMT void store_finished(void* data, std::int64_t at, Element to, const Finish& f, A sum) {
  switch (to) {
    case Element::u8:
      static_cast<std::uint8_t*>(data)[at] = finished<std::uint8_t>(f, sum);
      break;
    case Element::u16:
      static_cast<std::uint16_t*>(data)[at] = finished<std::uint16_t>(f, sum);
      break;
    case Element::i16:
      static_cast<std::int16_t*>(data)[at] = finished<std::int16_t>(f, sum);
      break;
    case Element::f16:
      static_cast<f16*>(data)[at] = finished<f16>(f, sum);
      break;
    default:
      static_cast<float*>(data)[at] = finished<float>(f, sum);
      break;
  }
}

}  // namespace TESSERA_UNIT
}  // namespace tessera::filter
