// SPDX-License-Identifier: Apache-2.0
// Half precision.
#pragma once
#include "device_functions.h"

namespace tessera_cuda {

TESSERA_DEVICE float half_to_float(unsigned short bits) {
  const unsigned sign = static_cast<unsigned>(bits & 0x8000u) << 16, rest = bits & 0x7fffu;
  if (rest >= 0x7c00u) return bits_of<float>(sign | 0x7f800000u | (rest & 0x3ffu) << 13);
  if (rest >= 0x400u) return bits_of<float>(sign | ((rest << 13) + 0x38000000u));
  const float small = static_cast<float>(rest) * 5.9604644775390625e-8f;  // a multiple of 2^-24
  return bits_of<float>(sign | bits_of<unsigned>(small));
}

// Rounds to nearest, ties to even.
TESSERA_DEVICE unsigned short float_to_half(float value) {
  const unsigned bits = bits_of<unsigned>(value), sign = bits >> 16 & 0x8000u, rest = bits & 0x7fffffffu;
  if (rest > 0x7f800000u) return static_cast<unsigned short>(sign | 0x7fffu);
  if (rest >= 0x477ff000u) return static_cast<unsigned short>(sign | 0x7c00u);
  if (rest < 0x38800000u) {
    // Adding this leaves the digits of a subnormal half.
    const float shifted = bits_of<float>(rest) + 0.5f;
    return static_cast<unsigned short>(sign | (bits_of<unsigned>(shifted) - 0x3f000000u));
  }
  const unsigned odd = rest >> 13 & 1u;
  return static_cast<unsigned short>(sign | (rest - 0x38000000u + 0xfffu + odd) >> 13);
}

}  // namespace tessera_cuda

#define TESSERA_H __half
#define TESSERA_H2 __half2
#define TESSERA_RAW __half_raw
#define TESSERA_NAME(before, after) before##half##after
#define TESSERA_NAME2(before, after) before##half2##after
#define TESSERA_TWICE __half2half2
#define TESSERA_INFINITY 0x7c00u
#define TESSERA_WIDEN half_to_float
#define TESSERA_NARROW float_to_half
#include "half_arithmetic.h"

typedef __half half;
typedef __half2 half2;
#define CUDART_INF_FP16 __ushort_as_half(0x7C00U)
#define CUDART_NAN_FP16 __ushort_as_half(0x7FFFU)
#define CUDART_MIN_DENORM_FP16 __ushort_as_half(0x0001U)
#define CUDART_MAX_NORMAL_FP16 __ushort_as_half(0x7BFFU)
#define CUDART_NEG_ZERO_FP16 __ushort_as_half(0x8000U)
#define CUDART_ZERO_FP16 __ushort_as_half(0x0000U)
#define CUDART_ONE_FP16 __ushort_as_half(0x3C00U)
