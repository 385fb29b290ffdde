// SPDX-License-Identifier: Apache-2.0
// make_float4 and similar functions.
#pragma once
#include "vector_types.h"

#define TESSERA_MAKE_VECTORS(name, element)                                               \
  constexpr name##1 make_##name##1(element x) { return {x}; }                             \
  constexpr name##2 make_##name##2(element x, element y) { return {x, y}; }               \
  constexpr name##3 make_##name##3(element x, element y, element z) { return {x, y, z}; } \
  constexpr name##4 make_##name##4(element x, element y, element z, element w) { return {x, y, z, w}; }

TESSERA_MAKE_VECTORS(char, signed char)
TESSERA_MAKE_VECTORS(uchar, unsigned char)
TESSERA_MAKE_VECTORS(short, short)
TESSERA_MAKE_VECTORS(ushort, unsigned short)
TESSERA_MAKE_VECTORS(int, int)
TESSERA_MAKE_VECTORS(uint, unsigned int)
TESSERA_MAKE_VECTORS(long, long)
TESSERA_MAKE_VECTORS(ulong, unsigned long)
TESSERA_MAKE_VECTORS(longlong, long long)
TESSERA_MAKE_VECTORS(ulonglong, unsigned long long)
TESSERA_MAKE_VECTORS(float, float)
TESSERA_MAKE_VECTORS(double, double)
#undef TESSERA_MAKE_VECTORS
