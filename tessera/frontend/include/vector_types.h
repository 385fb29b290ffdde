// SPDX-License-Identifier: Apache-2.0
// CUDA's vector types with CUDA's sizes and alignments: a float4 is one access of 16 bytes.
#pragma once

#define TESSERA_VECTOR_TYPES(name, element, align2, align4) \
  struct name##1 {                                          \
    element x;                                              \
  };                                                        \
  struct alignas(align2) name##2 {                          \
    element x, y;                                           \
  };                                                        \
  struct name##3 {                                          \
    element x, y, z;                                        \
  };                                                        \
  struct alignas(align4) name##4 {                          \
    element x, y, z, w;                                     \
  };

TESSERA_VECTOR_TYPES(char, signed char, 2, 4)
TESSERA_VECTOR_TYPES(uchar, unsigned char, 2, 4)
TESSERA_VECTOR_TYPES(short, short, 4, 8)
TESSERA_VECTOR_TYPES(ushort, unsigned short, 4, 8)
TESSERA_VECTOR_TYPES(int, int, 8, 16)
TESSERA_VECTOR_TYPES(uint, unsigned int, 8, 16)
TESSERA_VECTOR_TYPES(long, long, 16, 16)
TESSERA_VECTOR_TYPES(ulong, unsigned long, 16, 16)
TESSERA_VECTOR_TYPES(longlong, long long, 16, 16)
TESSERA_VECTOR_TYPES(ulonglong, unsigned long long, 16, 16)
TESSERA_VECTOR_TYPES(float, float, 8, 16)
TESSERA_VECTOR_TYPES(double, double, 16, 16)
#undef TESSERA_VECTOR_TYPES

struct dim3 {
  unsigned int x, y, z;
  constexpr dim3(unsigned int vx = 1, unsigned int vy = 1, unsigned int vz = 1) : x(vx), y(vy), z(vz) {}
  constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
  constexpr operator uint3() const { return {x, y, z}; }
};
