// SPDX-License-Identifier: Apache-2.0
// Half precision. Arithmetic is done in single precision and rounded to half after each operation, as a GPU
// does.
#pragma once
#include "device_functions.h"
#include "tessera_calls.h"

namespace tessera_cuda {

TESSERA_DEVICE float half_to_float(unsigned short bits) {
  const unsigned sign = static_cast<unsigned>(bits & 0x8000u) << 16, rest = bits & 0x7fffu;
  if (rest >= 0x7c00u) return bits_of<float>(sign | 0x7f800000u | (rest & 0x3ffu) << 13);
  if (rest >= 0x400u) return bits_of<float>(sign | ((rest << 13) + 0x38000000u));
  const float small = static_cast<float>(rest) * 5.9604644775390625e-8f;  // of 2^-24
  return bits_of<float>(sign | bits_of<unsigned>(small));
}

// To the nearest, ties to even.
TESSERA_DEVICE unsigned short float_to_half(float value) {
  const unsigned bits = bits_of<unsigned>(value), sign = bits >> 16 & 0x8000u, rest = bits & 0x7fffffffu;
  if (rest > 0x7f800000u) return static_cast<unsigned short>(sign | 0x7fffu);
  if (rest >= 0x477ff000u) return static_cast<unsigned short>(sign | 0x7c00u);
  if (rest < 0x38800000u) {
    // Adding this leaves the digits that a small half has.
    const float shifted = bits_of<float>(rest) + 0.5f;
    return static_cast<unsigned short>(sign | (bits_of<unsigned>(shifted) - 0x3f000000u));
  }
  const unsigned odd = rest >> 13 & 1u;
  return static_cast<unsigned short>(sign | (rest - 0x38000000u + 0xfffu + odd) >> 13);
}

}  // namespace tessera_cuda

struct __half_raw {
  unsigned short x;
};

struct alignas(2) __half {
  unsigned short bits;

  __half() = default;
  __half(const __half_raw& raw) : bits(raw.x) {}
  __half(float value) : bits(tessera_cuda::float_to_half(value)) {}
  __half(double value) : __half(static_cast<float>(value)) {}
  __half(int value) : __half(static_cast<float>(value)) {}
  __half(unsigned value) : __half(static_cast<float>(value)) {}
  __half(long long value) : __half(static_cast<float>(value)) {}
  operator float() const { return tessera_cuda::half_to_float(bits); }
  __half& operator+=(const __half& other);
  __half& operator-=(const __half& other);
  __half& operator*=(const __half& other);
  __half& operator/=(const __half& other);
};
typedef __half half;

struct alignas(4) __half2 {
  __half x, y;
  __half2() = default;
  __half2(const __half& a, const __half& b) : x(a), y(b) {}
};
typedef __half2 half2;

TESSERA_DEVICE float __half2float(__half a) { return tessera_cuda::half_to_float(a.bits); }
TESSERA_DEVICE __half __float2half(float a) { return __half(a); }
TESSERA_DEVICE __half __float2half_rn(float a) { return __half(a); }
TESSERA_DEVICE __half __double2half(double a) { return __half(a); }
TESSERA_DEVICE __half __int2half_rn(int a) { return __half(a); }
TESSERA_DEVICE __half __uint2half_rn(unsigned a) { return __half(a); }
TESSERA_DEVICE int __half2int_rn(__half a) { return static_cast<int>(__builtin_nearbyintf(__half2float(a))); }
TESSERA_DEVICE int __half2int_rz(__half a) { return static_cast<int>(__half2float(a)); }
TESSERA_DEVICE unsigned short __half_as_ushort(__half a) { return a.bits; }
TESSERA_DEVICE short __half_as_short(__half a) { return static_cast<short>(a.bits); }
TESSERA_DEVICE __half __ushort_as_half(unsigned short a) { return __half(__half_raw{a}); }
TESSERA_DEVICE __half __short_as_half(short a) { return __half(__half_raw{static_cast<unsigned short>(a)}); }

#define TESSERA_HALF_BINARY(name, op)                                                                       \
  TESSERA_DEVICE __half name(__half a, __half b) { return __half(__half2float(a) op __half2float(b)); }     \
  TESSERA_DEVICE __half operator op(const __half& a, const __half& b) { return name(a, b); }                \
  TESSERA_DEVICE __half2 name##2(__half2 a, __half2 b) { return {name(a.x, b.x), name(a.y, b.y)}; }         \
  TESSERA_DEVICE __half2 operator op(const __half2& a, const __half2& b) { return name##2(a, b); }          \
  TESSERA_DEVICE __half& __half::operator op##=(const __half& other) { return *this = name(*this, other); } \
  TESSERA_DEVICE __half2& operator op##=(__half2& a, const __half2& b) { return a = name##2(a, b); }
TESSERA_HALF_BINARY(__hadd, +)
TESSERA_HALF_BINARY(__hsub, -)
TESSERA_HALF_BINARY(__hmul, *)
TESSERA_HALF_BINARY(__hdiv, /)
#undef TESSERA_HALF_BINARY
TESSERA_DEVICE __half2 __h2div(__half2 a, __half2 b) { return __hdiv2(a, b); }
TESSERA_DEVICE __half __hneg(__half a) {
  return __ushort_as_half(static_cast<unsigned short>(a.bits ^ 0x8000u));
}
TESSERA_DEVICE __half __habs(__half a) {
  return __ushort_as_half(static_cast<unsigned short>(a.bits & 0x7fffu));
}
TESSERA_DEVICE __half operator-(const __half& a) { return __hneg(a); }
// Exact in double precision but for the last step.
TESSERA_DEVICE __half __hfma(__half a, __half b, __half c) {
  return __half(static_cast<float>(static_cast<double>(__half2float(a)) * __half2float(b) + __half2float(c)));
}
TESSERA_DEVICE __half2 __hfma2(__half2 a, __half2 b, __half2 c) {
  return {__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y)};
}
TESSERA_DEVICE __half2 __hneg2(__half2 a) { return {__hneg(a.x), __hneg(a.y)}; }
TESSERA_DEVICE __half2 __habs2(__half2 a) { return {__habs(a.x), __habs(a.y)}; }

#define TESSERA_HALF_COMPARE(name, op)                                                        \
  TESSERA_DEVICE bool name(__half a, __half b) { return __half2float(a) op __half2float(b); } \
  TESSERA_DEVICE bool operator op(const __half& a, const __half& b) { return name(a, b); }    \
  TESSERA_DEVICE __half2 name##2(__half2 a, __half2 b) {                                      \
    return {__half(name(a.x, b.x) ? 1.0f : 0.0f), __half(name(a.y, b.y) ? 1.0f : 0.0f)};      \
  }
TESSERA_HALF_COMPARE(__heq, ==)
TESSERA_HALF_COMPARE(__hne, !=)
TESSERA_HALF_COMPARE(__hlt, <)
TESSERA_HALF_COMPARE(__hle, <=)
TESSERA_HALF_COMPARE(__hgt, >)
TESSERA_HALF_COMPARE(__hge, >=)
#undef TESSERA_HALF_COMPARE
TESSERA_DEVICE bool __hisnan(__half a) { return (a.bits & 0x7fffu) > 0x7c00u; }
TESSERA_DEVICE int __hisinf(__half a) { return a.bits == 0x7c00u ? 1 : a.bits == 0xfc00u ? -1 : 0; }
TESSERA_DEVICE __half __hmax(__half a, __half b) { return __hisnan(a) || __hlt(a, b) ? b : a; }
TESSERA_DEVICE __half __hmin(__half a, __half b) { return __hisnan(a) || __hlt(b, a) ? b : a; }

TESSERA_DEVICE __half2 __halves2half2(__half a, __half b) { return {a, b}; }
TESSERA_DEVICE __half2 make_half2(__half a, __half b) { return {a, b}; }
TESSERA_DEVICE __half2 __half2half2(__half a) { return {a, a}; }
TESSERA_DEVICE __half2 __float2half2_rn(float a) { return {__half(a), __half(a)}; }
TESSERA_DEVICE __half2 __floats2half2_rn(float a, float b) { return {__half(a), __half(b)}; }
TESSERA_DEVICE __half2 __float22half2_rn(float2 a) { return {__half(a.x), __half(a.y)}; }
TESSERA_DEVICE float2 __half22float2(__half2 a) { return {__half2float(a.x), __half2float(a.y)}; }
TESSERA_DEVICE __half __low2half(__half2 a) { return a.x; }
TESSERA_DEVICE __half __high2half(__half2 a) { return a.y; }
TESSERA_DEVICE float __low2float(__half2 a) { return __half2float(a.x); }
TESSERA_DEVICE float __high2float(__half2 a) { return __half2float(a.y); }
TESSERA_DEVICE __half2 __lowhigh2highlow(__half2 a) { return {a.y, a.x}; }
TESSERA_DEVICE __half2 __low2half2(__half2 a) { return {a.x, a.x}; }
TESSERA_DEVICE __half2 __high2half2(__half2 a) { return {a.y, a.y}; }

#define TESSERA_HALF_FUNCTION(name, of)                                          \
  TESSERA_DEVICE __half name(__half a) {                                         \
    return __half(static_cast<float>(of(static_cast<double>(__half2float(a))))); \
  }
TESSERA_HALF_FUNCTION(hsqrt, __builtin_sqrt)
TESSERA_HALF_FUNCTION(hexp, __builtin_exp)
TESSERA_HALF_FUNCTION(hexp2, __builtin_exp2)
TESSERA_HALF_FUNCTION(hlog, __builtin_log)
TESSERA_HALF_FUNCTION(hlog2, __builtin_log2)
TESSERA_HALF_FUNCTION(hsin, __builtin_sin)
TESSERA_HALF_FUNCTION(hcos, __builtin_cos)
TESSERA_HALF_FUNCTION(hrcp, 1.0 /)
TESSERA_HALF_FUNCTION(hrsqrt, 1.0 / __builtin_sqrt)
TESSERA_HALF_FUNCTION(hfloor, __builtin_floor)
TESSERA_HALF_FUNCTION(hceil, __builtin_ceil)
#undef TESSERA_HALF_FUNCTION

TESSERA_DEVICE __half atomicAdd(__half* address, __half value) {
  return tessera_cuda::atomic_update(address, [value](__half old) { return __hadd(old, value); });
}
TESSERA_DEVICE __half2 atomicAdd(__half2* address, __half2 value) {
  return tessera_cuda::atomic_update(address, [value](__half2 old) { return __hadd2(old, value); });
}
