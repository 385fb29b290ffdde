// SPDX-License-Identifier: Apache-2.0
// Code shared by the 16-bit formats. cuda_fp16.h and cuda_bf16.h include it, each after it has defined its
// type's names: TESSERA_H, TESSERA_H2 (two of them), TESSERA_RAW (its bits), TESSERA_NAME(a, b) and
// TESSERA_NAME2(a, b) (names of functions), TESSERA_TWICE (makes a pair of equal numbers), TESSERA_INFINITY
// (its bits), and the conversions tessera_cuda::TESSERA_WIDEN and TESSERA_NARROW. Hence no "pragma once".
//
// Arithmetic is done in single precision and rounded after each operation, as a GPU does: single precision
// has enough digits that rounding twice is rounding once.
#include "math_functions.h"
#include "simd_functions.h"
#include "tessera_calls.h"

#if !defined(TESSERA_HALF_ARITHMETIC)
#define TESSERA_HALF_ARITHMETIC
namespace tessera_cuda {

// Rounds to odd in single precision, so that rounding the result to half is rounding `value`.
template <class Wide>
TESSERA_DEVICE float to_odd(Wide value) {
  const float nearest = static_cast<float>(value);
  const auto back = static_cast<Wide>(nearest);
  if (back == value || !(value - value == 0)) return nearest;
  unsigned bits = bits_of<unsigned>(nearest);
  if ((back > value) == (value > 0)) --bits;  // towards zero
  return bits_of<float>(bits | 1u);
}
// Returns a * b + c of halves: the product is exact in double precision, and the sum is rounded to odd.
TESSERA_DEVICE float odd_fma(float a, float b, float c) {
  const double product = static_cast<double>(a) * b, sum = product + c;
  const double c_part = sum - product, rest = (product - (sum - c_part)) + (c - c_part);
  if (rest == 0 || !(rest - rest == 0)) return to_odd(sum);
  const auto bits = bits_of<unsigned long long>(sum);
  return to_odd(bits_of<double>((bits & 1u) != 0 ? bits : (rest > 0) == (sum > 0) ? bits + 1 : bits - 1));
}
template <class T>
using IfNumber = std::enable_if_t<std::is_arithmetic_v<T>, int>;

}  // namespace tessera_cuda
#endif

struct TESSERA_RAW {
  unsigned short x;
};

struct alignas(2) TESSERA_H {
  unsigned short bits;

  TESSERA_H() = default;
  TESSERA_H(const TESSERA_RAW& raw) : bits(raw.x) {}
  template <class T, tessera_cuda::IfNumber<T> = 0>
  TESSERA_H(T value)
      : bits(tessera_cuda::TESSERA_NARROW(tessera_cuda::to_odd(static_cast<long double>(value)))) {}
  TESSERA_H(float value) : bits(tessera_cuda::TESSERA_NARROW(value)) {}
  operator float() const { return tessera_cuda::TESSERA_WIDEN(bits); }
  operator TESSERA_RAW() const { return {bits}; }
};

struct alignas(4) TESSERA_H2 {
  TESSERA_H x, y;
  TESSERA_H2() = default;
  TESSERA_H2(const TESSERA_H& a, const TESSERA_H& b) : x(a), y(b) {}
};

// Bits
TESSERA_DEVICE unsigned short TESSERA_NAME(__, _as_ushort)(TESSERA_H a) { return a.bits; }
TESSERA_DEVICE short TESSERA_NAME(__, _as_short)(TESSERA_H a) { return static_cast<short>(a.bits); }
TESSERA_DEVICE TESSERA_H TESSERA_NAME(__ushort_as_, )(unsigned short a) { return TESSERA_H(TESSERA_RAW{a}); }
TESSERA_DEVICE TESSERA_H TESSERA_NAME(__short_as_, )(short a) {
  return TESSERA_H(TESSERA_RAW{static_cast<unsigned short>(a)});
}
TESSERA_DEVICE bool __hisnan(TESSERA_H a) { return (a.bits & 0x7fffu) > TESSERA_INFINITY; }
TESSERA_DEVICE int __hisinf(TESSERA_H a) {
  return (a.bits & 0x7fffu) != TESSERA_INFINITY ? 0 : a.bits >> 15 != 0 ? -1 : 1;
}

// Conversions, with each rounding
namespace tessera_cuda {
TESSERA_DEVICE TESSERA_H TESSERA_NAME(rounded_, )(long double value, Rounding how) {
  TESSERA_H out(value);
  const auto back = static_cast<long double>(static_cast<float>(out));
  const bool down = how == Rounding::down || (how == Rounding::zero && value > 0);
  const bool up = how == Rounding::up || (how == Rounding::zero && value < 0);
  if (!((back > value && down) || (back < value && up))) return out;
  // The next number: the bits of negative numbers count the other way.
  if (back == 0) out.bits = down ? 0x8001u : 1u;
  else out.bits = static_cast<unsigned short>((back > 0) == up ? out.bits + 1 : out.bits - 1);
  return out;
}
}  // namespace tessera_cuda
#define TESSERA_TO(from, type, suffix, how)                                   \
  TESSERA_DEVICE TESSERA_H TESSERA_NAME(__##from##2, _##suffix)(type value) { \
    return tessera_cuda::TESSERA_NAME(rounded_, )(value, how);                \
  }
#define TESSERA_FROM(to, type, suffix, function)                                            \
  TESSERA_DEVICE type TESSERA_NAME(__, 2##to##_##suffix)(TESSERA_H value) {                 \
    return tessera_cuda::to_whole<type>(function(tessera_cuda::TESSERA_WIDEN(value.bits))); \
  }
#define TESSERA_WHOLE(name, type, suffix, how, function) \
  TESSERA_TO(name, type, suffix, how)                    \
  TESSERA_FROM(name, type, suffix, function)
#define TESSERA_CONVERSIONS(suffix, how, function)             \
  TESSERA_TO(float, float, suffix, how)                        \
  TESSERA_WHOLE(short, short, suffix, how, function)           \
  TESSERA_WHOLE(ushort, unsigned short, suffix, how, function) \
  TESSERA_WHOLE(int, int, suffix, how, function)               \
  TESSERA_WHOLE(uint, unsigned, suffix, how, function)         \
  TESSERA_WHOLE(ll, long long, suffix, how, function)          \
  TESSERA_WHOLE(ull, unsigned long long, suffix, how, function)
TESSERA_CONVERSIONS(rn, tessera_cuda::Rounding::nearest, std::nearbyint)
TESSERA_CONVERSIONS(rz, tessera_cuda::Rounding::zero, std::trunc)
TESSERA_CONVERSIONS(ru, tessera_cuda::Rounding::up, std::ceil)
TESSERA_CONVERSIONS(rd, tessera_cuda::Rounding::down, std::floor)
TESSERA_FROM(char, signed char, rz, std::trunc)
TESSERA_FROM(uchar, unsigned char, rz, std::trunc)
#undef TESSERA_CONVERSIONS
#undef TESSERA_WHOLE
#undef TESSERA_FROM
#undef TESSERA_TO
TESSERA_DEVICE float TESSERA_NAME(__, 2float)(TESSERA_H a) { return tessera_cuda::TESSERA_WIDEN(a.bits); }
TESSERA_DEVICE TESSERA_H TESSERA_NAME(__float2, )(float a) { return TESSERA_H(a); }
TESSERA_DEVICE TESSERA_H TESSERA_NAME(__double2, )(double a) { return TESSERA_H(a); }

// Two of them
TESSERA_DEVICE TESSERA_H2 TESSERA_NAME2(make_, )(TESSERA_H a, TESSERA_H b) { return {a, b}; }
TESSERA_DEVICE TESSERA_H2 TESSERA_NAME2(__halves2, )(TESSERA_H a, TESSERA_H b) { return {a, b}; }
TESSERA_DEVICE TESSERA_H2 TESSERA_TWICE(TESSERA_H a) { return {a, a}; }
TESSERA_DEVICE TESSERA_H2 TESSERA_NAME2(__float2, _rn)(float a) { return {TESSERA_H(a), TESSERA_H(a)}; }
TESSERA_DEVICE TESSERA_H2 TESSERA_NAME2(__floats2, _rn)(float a, float b) {
  return {TESSERA_H(a), TESSERA_H(b)};
}
TESSERA_DEVICE TESSERA_H2 TESSERA_NAME2(__float22, _rn)(float2 a) { return {TESSERA_H(a.x), TESSERA_H(a.y)}; }
TESSERA_DEVICE float2 TESSERA_NAME2(__, 2float2)(TESSERA_H2 a) {
  return {static_cast<float>(a.x), static_cast<float>(a.y)};
}
TESSERA_DEVICE TESSERA_H TESSERA_NAME(__low2, )(TESSERA_H2 a) { return a.x; }
TESSERA_DEVICE TESSERA_H TESSERA_NAME(__high2, )(TESSERA_H2 a) { return a.y; }
TESSERA_DEVICE float __low2float(TESSERA_H2 a) { return static_cast<float>(a.x); }
TESSERA_DEVICE float __high2float(TESSERA_H2 a) { return static_cast<float>(a.y); }
TESSERA_DEVICE TESSERA_H2 __lowhigh2highlow(TESSERA_H2 a) { return {a.y, a.x}; }
TESSERA_DEVICE TESSERA_H2 TESSERA_NAME2(__low2, )(TESSERA_H2 a) { return {a.x, a.x}; }
TESSERA_DEVICE TESSERA_H2 TESSERA_NAME2(__high2, )(TESSERA_H2 a) { return {a.y, a.y}; }
TESSERA_DEVICE TESSERA_H2 TESSERA_NAME2(__lows2, )(TESSERA_H2 a, TESSERA_H2 b) { return {a.x, b.x}; }
TESSERA_DEVICE TESSERA_H2 TESSERA_NAME2(__highs2, )(TESSERA_H2 a, TESSERA_H2 b) { return {a.y, b.y}; }

// Arithmetic. "sat": at least 0 and at most 1; "relu": at least 0.
namespace tessera_cuda {
TESSERA_DEVICE TESSERA_H clamped(TESSERA_H a) { return TESSERA_H(__saturatef(static_cast<float>(a))); }
TESSERA_DEVICE TESSERA_H rectified(TESSERA_H a) { return static_cast<float>(a) < 0 ? TESSERA_H(0.0f) : a; }
}  // namespace tessera_cuda
#define TESSERA_BINARY(name, op)                                                                             \
  TESSERA_DEVICE TESSERA_H name(TESSERA_H a, TESSERA_H b) {                                                  \
    return TESSERA_H(static_cast<float>(a) op static_cast<float>(b));                                        \
  }                                                                                                          \
  TESSERA_DEVICE TESSERA_H operator op(const TESSERA_H& a, const TESSERA_H& b) { return name(a, b); }        \
  TESSERA_DEVICE TESSERA_H& operator op##=(TESSERA_H& a, const TESSERA_H& b) { return a = name(a, b); }      \
  TESSERA_DEVICE TESSERA_H2 name##2(TESSERA_H2 a, TESSERA_H2 b) { return {name(a.x, b.x), name(a.y, b.y)}; } \
  TESSERA_DEVICE TESSERA_H2 operator op(const TESSERA_H2& a, const TESSERA_H2& b) { return name##2(a, b); }  \
  TESSERA_DEVICE TESSERA_H2& operator op##=(TESSERA_H2& a, const TESSERA_H2& b) { return a = name##2(a, b); }
#define TESSERA_ROUNDED_BINARY(name, op)                                                     \
  TESSERA_BINARY(name, op)                                                                   \
  TESSERA_DEVICE TESSERA_H name##_rn(TESSERA_H a, TESSERA_H b) { return name(a, b); }        \
  TESSERA_DEVICE TESSERA_H2 name##2_rn(TESSERA_H2 a, TESSERA_H2 b) { return name##2(a, b); } \
  TESSERA_DEVICE TESSERA_H name##_sat(TESSERA_H a, TESSERA_H b) {                            \
    return tessera_cuda::clamped(name(a, b));                                                \
  }                                                                                          \
  TESSERA_DEVICE TESSERA_H2 name##2_sat(TESSERA_H2 a, TESSERA_H2 b) {                        \
    return {name##_sat(a.x, b.x), name##_sat(a.y, b.y)};                                     \
  }
TESSERA_ROUNDED_BINARY(__hadd, +)
TESSERA_ROUNDED_BINARY(__hsub, -)
TESSERA_ROUNDED_BINARY(__hmul, *)
TESSERA_BINARY(__hdiv, /)
#undef TESSERA_ROUNDED_BINARY
#undef TESSERA_BINARY
TESSERA_DEVICE TESSERA_H2 __h2div(TESSERA_H2 a, TESSERA_H2 b) { return __hdiv2(a, b); }
TESSERA_DEVICE TESSERA_H __hneg(TESSERA_H a) {
  return TESSERA_H(TESSERA_RAW{static_cast<unsigned short>(a.bits ^ 0x8000u)});
}
TESSERA_DEVICE TESSERA_H __habs(TESSERA_H a) {
  return TESSERA_H(TESSERA_RAW{static_cast<unsigned short>(a.bits & 0x7fffu)});
}
TESSERA_DEVICE TESSERA_H2 __hneg2(TESSERA_H2 a) { return {__hneg(a.x), __hneg(a.y)}; }
TESSERA_DEVICE TESSERA_H2 __habs2(TESSERA_H2 a) { return {__habs(a.x), __habs(a.y)}; }
TESSERA_DEVICE TESSERA_H operator-(const TESSERA_H& a) { return __hneg(a); }
TESSERA_DEVICE TESSERA_H2 operator-(const TESSERA_H2& a) { return __hneg2(a); }
TESSERA_DEVICE TESSERA_H operator+(const TESSERA_H& a) { return a; }
TESSERA_DEVICE TESSERA_H& operator++(TESSERA_H& a) { return a += TESSERA_H(1.0f); }
TESSERA_DEVICE TESSERA_H& operator--(TESSERA_H& a) { return a -= TESSERA_H(1.0f); }
TESSERA_DEVICE TESSERA_H operator++(TESSERA_H& a, int) {
  const TESSERA_H before = a;
  return ++a, before;
}
TESSERA_DEVICE TESSERA_H operator--(TESSERA_H& a, int) {
  const TESSERA_H before = a;
  return --a, before;
}
#define TESSERA_FMA(suffix, result)                                                     \
  TESSERA_DEVICE TESSERA_H __hfma##suffix(TESSERA_H a, TESSERA_H b, TESSERA_H c) {      \
    const TESSERA_H sum(tessera_cuda::odd_fma(a, b, c));                                \
    return result;                                                                      \
  }                                                                                     \
  TESSERA_DEVICE TESSERA_H2 __hfma2##suffix(TESSERA_H2 a, TESSERA_H2 b, TESSERA_H2 c) { \
    return {__hfma##suffix(a.x, b.x, c.x), __hfma##suffix(a.y, b.y, c.y)};              \
  }
TESSERA_FMA(, sum)
TESSERA_FMA(_sat, tessera_cuda::clamped(sum))
TESSERA_FMA(_relu, tessera_cuda::rectified(sum))
#undef TESSERA_FMA
// Computes the complex a * b + c.
TESSERA_DEVICE TESSERA_H2 __hcmadd(TESSERA_H2 a, TESSERA_H2 b, TESSERA_H2 c) {
  return {__hfma(__hneg(a.y), b.y, __hfma(a.x, b.x, c.x)), __hfma(a.y, b.x, __hfma(a.x, b.y, c.y))};
}

// Comparisons. With a NaN they are false, except for those that end in "u".
#define TESSERA_COMPARE_AS(name, holds)                                                                  \
  TESSERA_DEVICE bool __h##name(TESSERA_H left, TESSERA_H right) {                                       \
    const float a = left, b = right;                                                                     \
    return holds;                                                                                        \
  }                                                                                                      \
  TESSERA_DEVICE TESSERA_H2 __h##name##2(TESSERA_H2 a, TESSERA_H2 b) {                                   \
    return {TESSERA_H(__h##name(a.x, b.x) ? 1.0f : 0.0f), TESSERA_H(__h##name(a.y, b.y) ? 1.0f : 0.0f)}; \
  }                                                                                                      \
  TESSERA_DEVICE unsigned __h##name##2_mask(TESSERA_H2 a, TESSERA_H2 b) {                                \
    return (__h##name(a.x, b.x) ? 0xffffu : 0u) | (__h##name(a.y, b.y) ? 0xffff0000u : 0u);              \
  }                                                                                                      \
  TESSERA_DEVICE bool __hb##name##2(TESSERA_H2 a, TESSERA_H2 b) {                                        \
    return __h##name(a.x, b.x) && __h##name(a.y, b.y);                                                   \
  }
#define TESSERA_COMPARE(name, op)                      \
  TESSERA_COMPARE_AS(name, a == a && b == b && a op b) \
  TESSERA_COMPARE_AS(name##u, !(a == a && b == b) || a op b)
TESSERA_COMPARE(eq, ==)
TESSERA_COMPARE(ne, !=)
TESSERA_COMPARE(lt, <)
TESSERA_COMPARE(le, <=)
TESSERA_COMPARE(gt, >)
TESSERA_COMPARE(ge, >=)
#undef TESSERA_COMPARE
#undef TESSERA_COMPARE_AS
#define TESSERA_OPERATOR(op, name)                                                                    \
  TESSERA_DEVICE bool operator op(const TESSERA_H& a, const TESSERA_H& b) { return __h##name(a, b); } \
  TESSERA_DEVICE bool operator op(const TESSERA_H2& a, const TESSERA_H2& b) { return __hb##name##2(a, b); }
TESSERA_OPERATOR(==, eq)
TESSERA_OPERATOR(!=, neu)
TESSERA_OPERATOR(<, lt)
TESSERA_OPERATOR(<=, le)
TESSERA_OPERATOR(>, gt)
TESSERA_OPERATOR(>=, ge)
#undef TESSERA_OPERATOR
TESSERA_DEVICE TESSERA_H2 __hisnan2(TESSERA_H2 a) {
  return {TESSERA_H(__hisnan(a.x) ? 1.0f : 0.0f), TESSERA_H(__hisnan(a.y) ? 1.0f : 0.0f)};
}
// Return the other operand if one is NaN; those with "nan" return NaN then. -0 is less than 0.
#define TESSERA_MOST(name, function)                                                                         \
  TESSERA_DEVICE TESSERA_H name(TESSERA_H a, TESSERA_H b) {                                                  \
    if (__hisnan(a) && __hisnan(b)) return TESSERA_H(TESSERA_RAW{0x7fff});                                   \
    if (__hisnan(a)) return b;                                                                               \
    if (__hisnan(b)) return a;                                                                               \
    if (__heq(a, b)) return (a.bits >> 15 != 0) == (function(0, 1) == 0) ? a : b;                            \
    return TESSERA_H(function(static_cast<float>(a), static_cast<float>(b)));                                \
  }                                                                                                          \
  TESSERA_DEVICE TESSERA_H name##_nan(TESSERA_H a, TESSERA_H b) {                                            \
    return __hisnan(a) || __hisnan(b) ? TESSERA_H(TESSERA_RAW{0x7fff}) : name(a, b);                         \
  }                                                                                                          \
  TESSERA_DEVICE TESSERA_H2 name##2(TESSERA_H2 a, TESSERA_H2 b) { return {name(a.x, b.x), name(a.y, b.y)}; } \
  TESSERA_DEVICE TESSERA_H2 name##2_nan(TESSERA_H2 a, TESSERA_H2 b) {                                        \
    return {name##_nan(a.x, b.x), name##_nan(a.y, b.y)};                                                     \
  }
TESSERA_MOST(__hmax, tessera_cuda::greatest)
TESSERA_MOST(__hmin, tessera_cuda::least)
#undef TESSERA_MOST

// Functions, rounded to nearest; the last digit may differ from a GPU's.
#define TESSERA_FUNCTION(name, result)             \
  TESSERA_DEVICE TESSERA_H h##name(TESSERA_H of) { \
    const double x = static_cast<float>(of);       \
    return TESSERA_H(static_cast<double>(result)); \
  }                                                \
  TESSERA_DEVICE TESSERA_H2 h2##name(TESSERA_H2 a) { return {h##name(a.x), h##name(a.y)}; }
TESSERA_FUNCTION(sqrt, std::sqrt(x))
TESSERA_FUNCTION(rsqrt, 1.0 / std::sqrt(x))
TESSERA_FUNCTION(rcp, 1.0 / x)
TESSERA_FUNCTION(exp, std::exp(x))
TESSERA_FUNCTION(exp2, std::exp2(x))
TESSERA_FUNCTION(exp10, std::pow(10.0, x))
TESSERA_FUNCTION(log, std::log(x))
TESSERA_FUNCTION(log2, std::log2(x))
TESSERA_FUNCTION(log10, std::log10(x))
TESSERA_FUNCTION(sin, std::sin(x))
TESSERA_FUNCTION(cos, std::cos(x))
TESSERA_FUNCTION(tanh, std::tanh(x))
TESSERA_FUNCTION(tanh_approx, std::tanh(x))
TESSERA_FUNCTION(floor, std::floor(x))
TESSERA_FUNCTION(ceil, std::ceil(x))
TESSERA_FUNCTION(trunc, std::trunc(x))
TESSERA_FUNCTION(rint, std::nearbyint(x))
#undef TESSERA_FUNCTION

TESSERA_DEVICE TESSERA_H atomicAdd(TESSERA_H* address, TESSERA_H value) {
  return tessera_cuda::atomic_update(address, [value](TESSERA_H old) { return __hadd(old, value); });
}
TESSERA_DEVICE TESSERA_H2 atomicAdd(TESSERA_H2* address, TESSERA_H2 value) {
  return tessera_cuda::atomic_update(address, [value](TESSERA_H2 old) { return __hadd2(old, value); });
}

#undef TESSERA_NARROW
#undef TESSERA_WIDEN
#undef TESSERA_INFINITY
#undef TESSERA_TWICE
#undef TESSERA_NAME2
#undef TESSERA_NAME
#undef TESSERA_RAW
#undef TESSERA_H2
#undef TESSERA_H
