// SPDX-License-Identifier: Apache-2.0
// bfloat16: the upper half of a number of single precision.
#pragma once
#include "device_functions.h"

namespace tessera_cuda {

TESSERA_DEVICE float bfloat_to_float(unsigned short bits) {
  return bits_of<float>(static_cast<unsigned>(bits) << 16);
}
// Rounds to nearest, ties to even.
TESSERA_DEVICE unsigned short float_to_bfloat(float value) {
  const unsigned bits = bits_of<unsigned>(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return 0x7fffu;
  return static_cast<unsigned short>((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

}  // namespace tessera_cuda

#define TESSERA_H __nv_bfloat16
#define TESSERA_H2 __nv_bfloat162
#define TESSERA_RAW __nv_bfloat16_raw
#define TESSERA_NAME(before, after) before##bfloat16##after
#define TESSERA_NAME2(before, after) before##bfloat162##after
#define TESSERA_TWICE __bfloat162bfloat162
#define TESSERA_INFINITY 0x7f80u
#define TESSERA_WIDEN bfloat_to_float
#define TESSERA_NARROW float_to_bfloat
#include "half_arithmetic.h"

typedef __nv_bfloat16 nv_bfloat16;
typedef __nv_bfloat162 nv_bfloat162;
#define CUDART_INF_BF16 __ushort_as_bfloat16(0x7F80U)
#define CUDART_NAN_BF16 __ushort_as_bfloat16(0x7FFFU)
#define CUDART_MIN_DENORM_BF16 __ushort_as_bfloat16(0x0001U)
#define CUDART_MAX_NORMAL_BF16 __ushort_as_bfloat16(0x7F7FU)
#define CUDART_NEG_ZERO_BF16 __ushort_as_bfloat16(0x8000U)
#define CUDART_ZERO_BF16 __ushort_as_bfloat16(0x0000U)
#define CUDART_ONE_BF16 __ushort_as_bfloat16(0x3F80U)
