// SPDX-License-Identifier: Apache-2.0
// CUDA's mathematical functions that C lacks. The fast ones (__sinf, __expf) are computed like the accurate
// ones; on a GPU their last digits differ.
#pragma once
#include <cmath>
#include "device_functions.h"

// Minimum and maximum, for each pair of types that CUDA has them for.
#define TESSERA_LEAST(type, a_type, b_type)                                                           \
  TESSERA_DEVICE constexpr type min(a_type a, b_type b) {                                             \
    return static_cast<type>(a) < static_cast<type>(b) ? static_cast<type>(a) : static_cast<type>(b); \
  }                                                                                                   \
  TESSERA_DEVICE constexpr type max(a_type a, b_type b) {                                             \
    return static_cast<type>(a) < static_cast<type>(b) ? static_cast<type>(b) : static_cast<type>(a); \
  }
TESSERA_LEAST(int, int, int)
TESSERA_LEAST(unsigned, unsigned, unsigned)
TESSERA_LEAST(unsigned, int, unsigned)
TESSERA_LEAST(unsigned, unsigned, int)
TESSERA_LEAST(long, long, long)
TESSERA_LEAST(unsigned long, unsigned long, unsigned long)
TESSERA_LEAST(unsigned long, long, unsigned long)
TESSERA_LEAST(unsigned long, unsigned long, long)
TESSERA_LEAST(long long, long long, long long)
TESSERA_LEAST(unsigned long long, unsigned long long, unsigned long long)
TESSERA_LEAST(unsigned long long, long long, unsigned long long)
TESSERA_LEAST(unsigned long long, unsigned long long, long long)
#undef TESSERA_LEAST
#define TESSERA_LEAST(type, a_type, b_type)                                           \
  TESSERA_DEVICE type min(a_type a, b_type b) { return std::fmin(type(a), type(b)); } \
  TESSERA_DEVICE type max(a_type a, b_type b) { return std::fmax(type(a), type(b)); }
TESSERA_LEAST(float, float, float)
TESSERA_LEAST(double, double, double)
TESSERA_LEAST(double, float, double)
TESSERA_LEAST(double, double, float)
#undef TESSERA_LEAST
TESSERA_DEVICE unsigned umin(unsigned a, unsigned b) { return a < b ? a : b; }
TESSERA_DEVICE unsigned umax(unsigned a, unsigned b) { return a < b ? b : a; }
TESSERA_DEVICE long long llmin(long long a, long long b) { return a < b ? a : b; }
TESSERA_DEVICE long long llmax(long long a, long long b) { return a < b ? b : a; }
TESSERA_DEVICE unsigned long long ullmin(unsigned long long a, unsigned long long b) { return a < b ? a : b; }
TESSERA_DEVICE unsigned long long ullmax(unsigned long long a, unsigned long long b) { return a < b ? b : a; }

// Roots, angles in half turns, norms
TESSERA_DEVICE float rsqrtf(float x) { return 1.0f / std::sqrt(x); }
TESSERA_DEVICE double rsqrt(double x) { return 1.0 / std::sqrt(x); }
TESSERA_DEVICE float rsqrt(float x) { return 1.0f / std::sqrt(x); }
TESSERA_DEVICE float fdividef(float a, float b) { return a / b; }
TESSERA_DEVICE double fdivide(double a, double b) { return a / b; }
TESSERA_DEVICE float fdivide(float a, float b) { return a / b; }
namespace tessera_cuda {
// Reduces x first, so that full and half turns are exact.
TESSERA_DEVICE double sine_of_half_turns(double x) {
  const double r = std::remainder(x, 2.0);
  if (r == 0 || r == 1 || r == -1) return 0 * x;
  if (std::fabs(r) > 0.5) return std::sin(3.141592653589793 * (std::copysign(1.0, r) - r));
  return std::sin(3.141592653589793 * r);
}
TESSERA_DEVICE double cosine_of_half_turns(double x) {
  const double r = std::fabs(std::remainder(x, 2.0));
  if (r == 0.5) return 0;
  return r > 0.5 ? -std::cos(3.141592653589793 * (1.0 - r)) : std::cos(3.141592653589793 * r);
}
// Returns the inverse of erfc(), by Halley's steps from a guess that is right to some digits.
TESSERA_DEVICE double inverse_erfc(double x) {
  if (!(x > 0 && x < 2)) return x == 0 ? HUGE_VAL : x == 2 ? -HUGE_VAL : NAN;
  const double tail = x > 1 ? 2 - x : x, w = -std::log(tail);
  double y =
      tail > 0.1 ? (1 - tail) * 0.8862269254527580 : std::sqrt(w - 0.5 * std::log(3.141592653589793 * w));
  for (int i = 0; i < 6; ++i) {
    const double error = (std::erfc(y) - tail) / (1.1283791670955126 * std::exp(-y * y));
    y += error / (1 + y * error);
  }
  return x > 1 ? -y : y;
}
TESSERA_DEVICE double inverse_erf(double x) {
  if (!(std::fabs(x) < 0.5)) return std::copysign(inverse_erfc(1 - std::fabs(x)), x);
  double y = x * 0.8862269254527580;
  for (int i = 0; i < 4; ++i) {
    const double error = (std::erf(y) - x) / (1.1283791670955126 * std::exp(-y * y));
    y -= error / (1 + y * error);
  }
  return y;
}
// Beyond the limit erfc() loses digits and exp() overflows.
TESSERA_DEVICE double scaled_erfc(double x) {
  if (x < 25) return std::exp(x * x) * std::erfc(x);
  double sum = 1;
  for (double n = 6.5; n > 0; --n) sum = 1 - n / (x * x) * sum;
  return 0.5641895835477563 / x * sum;
}
}  // namespace tessera_cuda
// In double precision, and in single precision under both of its names.
#define TESSERA_FUNCTION(name, result)                    \
  TESSERA_DEVICE double name(double x) { return result; } \
  TESSERA_DEVICE float name##f(float single) {            \
    const double x = single;                              \
    return static_cast<float>(result);                    \
  }                                                       \
  TESSERA_DEVICE float name(float x) { return name##f(x); }
TESSERA_FUNCTION(rcbrt, 1.0 / std::cbrt(x))
TESSERA_FUNCTION(sinpi, tessera_cuda::sine_of_half_turns(x))
TESSERA_FUNCTION(cospi, tessera_cuda::cosine_of_half_turns(x))
TESSERA_FUNCTION(normcdf, 0.5 * std::erfc(-x * 0.7071067811865476))
TESSERA_FUNCTION(normcdfinv, -1.4142135623730951 * tessera_cuda::inverse_erfc(2 * x))
TESSERA_FUNCTION(erfinv, tessera_cuda::inverse_erf(x))
TESSERA_FUNCTION(erfcinv, tessera_cuda::inverse_erfc(x))
TESSERA_FUNCTION(erfcx, tessera_cuda::scaled_erfc(x))
TESSERA_FUNCTION(cyl_bessel_i0, std::cyl_bessel_i(0.0, std::fabs(x)))
TESSERA_FUNCTION(cyl_bessel_i1, std::copysign(std::cyl_bessel_i(1.0, std::fabs(x)), x))
#undef TESSERA_FUNCTION
// The C library's have no single-precision overload.
TESSERA_DEVICE float exp10(float x) { return ::exp10f(x); }
TESSERA_DEVICE float j0(float x) { return ::j0f(x); }
TESSERA_DEVICE float j1(float x) { return ::j1f(x); }
TESSERA_DEVICE float jn(int n, float x) { return ::jnf(n, x); }
TESSERA_DEVICE float y0(float x) { return ::y0f(x); }
TESSERA_DEVICE float y1(float x) { return ::y1f(x); }
TESSERA_DEVICE float yn(int n, float x) { return ::ynf(n, x); }
TESSERA_DEVICE void sincos(float x, float* sine, float* cosine) { ::sincosf(x, sine, cosine); }
TESSERA_DEVICE void sincospi(double x, double* sine, double* cosine) { *sine = sinpi(x), *cosine = cospi(x); }
TESSERA_DEVICE void sincospif(float x, float* sine, float* cosine) { *sine = sinpif(x), *cosine = cospif(x); }
TESSERA_DEVICE void sincospi(float x, float* sine, float* cosine) { sincospif(x, sine, cosine); }
#define TESSERA_NORMS(type, suffix)                                                               \
  TESSERA_DEVICE type rhypot##suffix(type a, type b) { return 1 / std::hypot(a, b); }             \
  TESSERA_DEVICE type norm3d##suffix(type a, type b, type c) { return std::hypot(a, b, c); }      \
  TESSERA_DEVICE type norm4d##suffix(type a, type b, type c, type d) {                            \
    return std::hypot(std::hypot(a, b, c), d);                                                    \
  }                                                                                               \
  TESSERA_DEVICE type rnorm3d##suffix(type a, type b, type c) { return 1 / std::hypot(a, b, c); } \
  TESSERA_DEVICE type rnorm4d##suffix(type a, type b, type c, type d) {                           \
    return 1 / norm4d##suffix(a, b, c, d);                                                        \
  }                                                                                               \
  TESSERA_DEVICE type norm##suffix(int count, const type* values) {                               \
    type sum = 0;                                                                                 \
    for (int i = 0; i < count; ++i) sum = std::hypot(sum, values[i]);                             \
    return sum;                                                                                   \
  }                                                                                               \
  TESSERA_DEVICE type rnorm##suffix(int count, const type* values) { return 1 / norm##suffix(count, values); }
TESSERA_NORMS(double, )
TESSERA_NORMS(float, f)
#undef TESSERA_NORMS

TESSERA_DEVICE float __sinf(float x) { return std::sin(x); }
TESSERA_DEVICE float __cosf(float x) { return std::cos(x); }
TESSERA_DEVICE float __tanf(float x) { return std::tan(x); }
TESSERA_DEVICE float __tanhf(float x) { return std::tanh(x); }
TESSERA_DEVICE void __sincosf(float x, float* sine, float* cosine) {
  *sine = std::sin(x), *cosine = std::cos(x);
}
TESSERA_DEVICE float __expf(float x) { return std::exp(x); }
TESSERA_DEVICE float __exp10f(float x) { return std::pow(10.0f, x); }
TESSERA_DEVICE float __logf(float x) { return std::log(x); }
TESSERA_DEVICE float __log2f(float x) { return std::log2(x); }
TESSERA_DEVICE float __log10f(float x) { return std::log10(x); }
TESSERA_DEVICE float __powf(float x, float y) { return std::pow(x, y); }
TESSERA_DEVICE float __fdividef(float a, float b) { return a / b; }
TESSERA_DEVICE float __saturatef(float x) { return x > 1 ? 1.0f : x > 0 ? x : 0.0f; }
TESSERA_DEVICE float __frsqrt_rn(float x) {
  return static_cast<float>(1.0 / std::sqrt(static_cast<double>(x)));
}

// Arithmetic with explicit rounding: rn to nearest, rz towards zero, ru up, rd down.
namespace tessera_cuda {
enum class Rounding { nearest, zero, up, down };
float rounded_add(float a, float b, Rounding how) noexcept;
float rounded_multiply(float a, float b, Rounding how) noexcept;
float rounded_divide(float a, float b, Rounding how) noexcept;
float rounded_fma(float a, float b, float c, Rounding how) noexcept;
float rounded_root(float a, Rounding how) noexcept;
double rounded_add(double a, double b, Rounding how) noexcept;
double rounded_multiply(double a, double b, Rounding how) noexcept;
double rounded_divide(double a, double b, Rounding how) noexcept;
double rounded_fma(double a, double b, double c, Rounding how) noexcept;
double rounded_root(double a, Rounding how) noexcept;
float to_float(double a, Rounding how) noexcept;
float to_float(long long a, Rounding how) noexcept;
float to_float(unsigned long long a, Rounding how) noexcept;
double to_double(long long a, Rounding how) noexcept;
double to_double(unsigned long long a, Rounding how) noexcept;
}  // namespace tessera_cuda
TESSERA_DEVICE float __fadd_rn(float a, float b) { return a + b; }
TESSERA_DEVICE float __fsub_rn(float a, float b) { return a - b; }
TESSERA_DEVICE float __fmul_rn(float a, float b) { return a * b; }
TESSERA_DEVICE float __fdiv_rn(float a, float b) { return a / b; }
TESSERA_DEVICE float __frcp_rn(float a) { return 1.0f / a; }
TESSERA_DEVICE float __fsqrt_rn(float a) { return std::sqrt(a); }
TESSERA_DEVICE float __fmaf_rn(float a, float b, float c) { return std::fma(a, b, c); }
TESSERA_DEVICE float __fmaf_ieee_rn(float a, float b, float c) { return std::fma(a, b, c); }
TESSERA_DEVICE double __dadd_rn(double a, double b) { return a + b; }
TESSERA_DEVICE double __dsub_rn(double a, double b) { return a - b; }
TESSERA_DEVICE double __dmul_rn(double a, double b) { return a * b; }
TESSERA_DEVICE double __ddiv_rn(double a, double b) { return a / b; }
TESSERA_DEVICE double __drcp_rn(double a) { return 1.0 / a; }
TESSERA_DEVICE double __dsqrt_rn(double a) { return std::sqrt(a); }
TESSERA_DEVICE double __fma_rn(double a, double b, double c) { return std::fma(a, b, c); }
#define TESSERA_ROUNDED(suffix, how)                                                                         \
  TESSERA_DEVICE float __fadd_##suffix(float a, float b) { return tessera_cuda::rounded_add(a, b, how); }    \
  TESSERA_DEVICE float __fsub_##suffix(float a, float b) { return tessera_cuda::rounded_add(a, -b, how); }   \
  TESSERA_DEVICE float __fmul_##suffix(float a, float b) {                                                   \
    return tessera_cuda::rounded_multiply(a, b, how);                                                        \
  }                                                                                                          \
  TESSERA_DEVICE float __fdiv_##suffix(float a, float b) { return tessera_cuda::rounded_divide(a, b, how); } \
  TESSERA_DEVICE float __frcp_##suffix(float a) { return tessera_cuda::rounded_divide(1.0f, a, how); }       \
  TESSERA_DEVICE float __fsqrt_##suffix(float a) { return tessera_cuda::rounded_root(a, how); }              \
  TESSERA_DEVICE float __fmaf_##suffix(float a, float b, float c) {                                          \
    return tessera_cuda::rounded_fma(a, b, c, how);                                                          \
  }                                                                                                          \
  TESSERA_DEVICE float __fmaf_ieee_##suffix(float a, float b, float c) {                                     \
    return tessera_cuda::rounded_fma(a, b, c, how);                                                          \
  }                                                                                                          \
  TESSERA_DEVICE double __dadd_##suffix(double a, double b) { return tessera_cuda::rounded_add(a, b, how); } \
  TESSERA_DEVICE double __dsub_##suffix(double a, double b) {                                                \
    return tessera_cuda::rounded_add(a, -b, how);                                                            \
  }                                                                                                          \
  TESSERA_DEVICE double __dmul_##suffix(double a, double b) {                                                \
    return tessera_cuda::rounded_multiply(a, b, how);                                                        \
  }                                                                                                          \
  TESSERA_DEVICE double __ddiv_##suffix(double a, double b) {                                                \
    return tessera_cuda::rounded_divide(a, b, how);                                                          \
  }                                                                                                          \
  TESSERA_DEVICE double __drcp_##suffix(double a) { return tessera_cuda::rounded_divide(1.0, a, how); }      \
  TESSERA_DEVICE double __dsqrt_##suffix(double a) { return tessera_cuda::rounded_root(a, how); }            \
  TESSERA_DEVICE double __fma_##suffix(double a, double b, double c) {                                       \
    return tessera_cuda::rounded_fma(a, b, c, how);                                                          \
  }                                                                                                          \
  TESSERA_DEVICE float __double2float_##suffix(double a) { return tessera_cuda::to_float(a, how); }          \
  TESSERA_DEVICE float __int2float_##suffix(int a) { return tessera_cuda::to_float(1ll * a, how); }          \
  TESSERA_DEVICE float __uint2float_##suffix(unsigned a) { return tessera_cuda::to_float(1ll * a, how); }    \
  TESSERA_DEVICE float __ll2float_##suffix(long long a) { return tessera_cuda::to_float(a, how); }           \
  TESSERA_DEVICE float __ull2float_##suffix(unsigned long long a) { return tessera_cuda::to_float(a, how); } \
  TESSERA_DEVICE double __ll2double_##suffix(long long a) { return tessera_cuda::to_double(a, how); }        \
  TESSERA_DEVICE double __ull2double_##suffix(unsigned long long a) {                                        \
    return tessera_cuda::to_double(a, how);                                                                  \
  }
TESSERA_ROUNDED(rz, tessera_cuda::Rounding::zero)
TESSERA_ROUNDED(ru, tessera_cuda::Rounding::up)
TESSERA_ROUNDED(rd, tessera_cuda::Rounding::down)
#undef TESSERA_ROUNDED

// Conversions, as on a GPU: a value out of range becomes the nearest number in range, and NaN 0.
namespace tessera_cuda {
template <class To, class From>
TESSERA_DEVICE To to_whole(From rounded) {
  if (!(rounded == rounded)) return 0;
  constexpr To lowest = std::is_signed_v<To> ? static_cast<To>(To{1} << (sizeof(To) * 8 - 1)) : To{0};
  constexpr To highest = static_cast<To>(~lowest);
  const double value = static_cast<double>(rounded);
  constexpr double end = static_cast<double>(To{1} << (sizeof(To) * 8 - 2)) * (std::is_signed_v<To> ? 2 : 4);
  if (value >= end) return highest;
  if (value < static_cast<double>(lowest)) return lowest;
  return static_cast<To>(rounded);
}
}  // namespace tessera_cuda
#define TESSERA_TO_WHOLE(name, from, to)                                                        \
  TESSERA_DEVICE to name##_rn(from x) { return tessera_cuda::to_whole<to>(std::nearbyint(x)); } \
  TESSERA_DEVICE to name##_rz(from x) { return tessera_cuda::to_whole<to>(std::trunc(x)); }     \
  TESSERA_DEVICE to name##_ru(from x) { return tessera_cuda::to_whole<to>(std::ceil(x)); }      \
  TESSERA_DEVICE to name##_rd(from x) { return tessera_cuda::to_whole<to>(std::floor(x)); }
TESSERA_TO_WHOLE(__float2int, float, int)
TESSERA_TO_WHOLE(__float2uint, float, unsigned)
TESSERA_TO_WHOLE(__float2ll, float, long long)
TESSERA_TO_WHOLE(__float2ull, float, unsigned long long)
TESSERA_TO_WHOLE(__double2int, double, int)
TESSERA_TO_WHOLE(__double2uint, double, unsigned)
TESSERA_TO_WHOLE(__double2ll, double, long long)
TESSERA_TO_WHOLE(__double2ull, double, unsigned long long)
#undef TESSERA_TO_WHOLE
#define TESSERA_FROM_WHOLE(name, from, to) \
  TESSERA_DEVICE to name(from x) { return static_cast<to>(x); }
TESSERA_FROM_WHOLE(__int2float_rn, int, float)
TESSERA_FROM_WHOLE(__uint2float_rn, unsigned, float)
TESSERA_FROM_WHOLE(__ll2float_rn, long long, float)
TESSERA_FROM_WHOLE(__ull2float_rn, unsigned long long, float)
TESSERA_FROM_WHOLE(__int2double_rn, int, double)
TESSERA_FROM_WHOLE(__uint2double_rn, unsigned, double)
TESSERA_FROM_WHOLE(__ll2double_rn, long long, double)
TESSERA_FROM_WHOLE(__ull2double_rn, unsigned long long, double)
TESSERA_FROM_WHOLE(__double2float_rn, double, float)
#undef TESSERA_FROM_WHOLE
