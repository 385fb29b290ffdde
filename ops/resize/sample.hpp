// SPDX-License-Identifier: Apache-2.0
// Samples as numbers to sum, and sums as samples, the same bits on every device: docs/resize.md. No product
// is fused with a sum.
#pragma once
#include "ops/filter/sample.hpp"
#include "setting.hpp"

namespace tessera::resize {
inline namespace TESSERA_UNIT {

template <class A>
SIMT A weight_as(std::int32_t stored) {
  if constexpr (std::is_same_v<A, float>) return __builtin_bit_cast(float, stored);
  else return stored;
}

template <class T>
SIMT float plain_number(T sample) {
  return filter::number<float>(sample);
}

// x·a/255, to the nearest, as Pillow has it.
SIMT std::int32_t times_alpha(std::int32_t x, std::int32_t a) {
  const std::int32_t product = x * a + 128;
  return ((product >> 8) + product) >> 8;
}

SIMT std::int32_t without_alpha(std::int32_t x, std::int32_t a) {
  if (a == 0 || a == 255) return x;
  const std::int32_t colour = 255 * x / a;
  return colour < 255 ? colour : 255;
}
SIMT float without_alpha(float x, float a) { return a == 0 ? x : x / a; }

SIMT std::int32_t rounded_off(std::int32_t sum, std::int32_t shift) {
  return (sum + (1 << (shift - 1))) >> shift;
}

SIMT std::int32_t as_byte(std::int32_t value) { return filter::saturated<std::uint8_t>(value); }

// OpenCV's pair of rows: each product loses what is behind its 16 bits.
SIMT std::int32_t linear_pair(std::int32_t w0, std::int32_t sum0, std::int32_t w1, std::int32_t sum1) {
  return (((w0 * (sum0 >> 4)) >> 16) + ((w1 * (sum1 >> 4)) >> 16) + 2) >> 2;
}

// How many of the thresholds a sum reaches: its code.
SIMT std::int32_t code_of(const std::int32_t* thresholds, std::int32_t most, float light) {
  std::int32_t low = 0, high = most;  // the code is in low … high
  while (low < high) {
    const std::int32_t middle = (low + high + 1) / 2;
    if (light >= weight_as<float>(thresholds[middle - 1])) low = middle;
    else high = middle - 1;
  }
  return low;
}

template <class T>
SIMT T sample_of(float value) {
  if constexpr (std::is_same_v<T, float>) return value;
  else if constexpr (std::is_same_v<T, f16>) return filter::float_to_half(value);
  else return filter::rounded<T>(value);
}

// What a sum of whole numbers becomes. Bytes alone have weights; means are of any integers.
template <class T>
SIMT T finished(const Plan& plan, std::int32_t sum) {
  if (plan.recipe == Recipe::mean)
    return plan.halves_up ? filter::saturated<T>((sum + 2) >> 2)
                          : filter::rounded<T>(static_cast<float>(sum) * plan.share);
  return filter::saturated<T>(plan.recipe == Recipe::whole ? rounded_off(sum, plan.across_shift) : sum);
}

}  // namespace TESSERA_UNIT
}  // namespace tessera::resize
