// SPDX-License-Identifier: Apache-2.0
// Building blocks of the elementary functions for one number: float or double, on the host, in kernels and in
// text passed to NVRTC. pack-inl.h is the counterpart for vectors. Included inside a namespace by its users,
// with FORMULA_FN defined, so it includes nothing.

using u64 = unsigned long long;
using u32 = unsigned int;

template <class V>
struct Kind {
  static constexpr bool wide = sizeof(V) == 8;
};

#if defined(__CUDA_ARCH__)
FORMULA_FN double fused(double a, double b, double c) { return __fma_rn(a, b, c); }
FORMULA_FN float fused(float a, float b, float c) { return __fmaf_rn(a, b, c); }
FORMULA_FN double root(double a) { return __dsqrt_rn(a); }
FORMULA_FN float root(float a) { return __fsqrt_rn(a); }
FORMULA_FN double nearest(double a) { return ::rint(a); }
FORMULA_FN float nearest(float a) { return ::rintf(a); }
FORMULA_FN double below(double a) { return ::floor(a); }
FORMULA_FN float below(float a) { return ::floorf(a); }
FORMULA_FN double above(double a) { return ::ceil(a); }
FORMULA_FN float above(float a) { return ::ceilf(a); }
FORMULA_FN double towards_zero(double a) { return ::trunc(a); }
FORMULA_FN float towards_zero(float a) { return ::truncf(a); }
FORMULA_FN u64 bits_of(double a) { return static_cast<u64>(__double_as_longlong(a)); }
FORMULA_FN u32 bits_of(float a) { return __float_as_uint(a); }
FORMULA_FN double from_bits(u64 a) { return __longlong_as_double(static_cast<long long>(a)); }
FORMULA_FN float from_bits(u32 a) { return __uint_as_float(a); }
#else
FORMULA_FN double fused(double a, double b, double c) { return __builtin_fma(a, b, c); }
FORMULA_FN float fused(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
FORMULA_FN double root(double a) { return __builtin_sqrt(a); }
FORMULA_FN float root(float a) { return __builtin_sqrtf(a); }
FORMULA_FN double nearest(double a) { return __builtin_rint(a); }
FORMULA_FN float nearest(float a) { return __builtin_rintf(a); }
FORMULA_FN double below(double a) { return __builtin_floor(a); }
FORMULA_FN float below(float a) { return __builtin_floorf(a); }
FORMULA_FN double above(double a) { return __builtin_ceil(a); }
FORMULA_FN float above(float a) { return __builtin_ceilf(a); }
FORMULA_FN double towards_zero(double a) { return __builtin_trunc(a); }
FORMULA_FN float towards_zero(float a) { return __builtin_truncf(a); }
FORMULA_FN u64 bits_of(double a) { return __builtin_bit_cast(u64, a); }
FORMULA_FN u32 bits_of(float a) { return __builtin_bit_cast(u32, a); }
FORMULA_FN double from_bits(u64 a) { return __builtin_bit_cast(double, a); }
FORMULA_FN float from_bits(u32 a) { return __builtin_bit_cast(float, a); }
#endif

FORMULA_FN double magnitude(double a) { return from_bits(bits_of(a) & 0x7fffffffffffffffu); }
FORMULA_FN float magnitude(float a) { return from_bits(bits_of(a) & 0x7fffffffu); }
FORMULA_FN double with_sign(double a, double sign) {
  return from_bits((bits_of(a) & 0x7fffffffffffffffu) | (bits_of(sign) & 0x8000000000000000u));
}
FORMULA_FN float with_sign(float a, float sign) {
  return from_bits((bits_of(a) & 0x7fffffffu) | (bits_of(sign) & 0x80000000u));
}
FORMULA_FN double pick(bool which, double a, double b) { return which ? a : b; }
FORMULA_FN float pick(bool which, float a, float b) { return which ? a : b; }

// Returns 2^n for integer n from -1022 (-126) to 1023 (127), 0 one below: the sum's last bits are the
// exponent.
FORMULA_FN double power_of_two(double n) {
  return from_bits(bits_of(n + (6755399441055744.0 + 1023.0)) << 52);
}
FORMULA_FN float power_of_two(float n) { return from_bits(bits_of(n + (12582912.0f + 127.0f)) << 23); }

// Return the exponent and significand of a positive normal a = significand · 2^exponent, 1 ≤ significand < 2.
FORMULA_FN double exponent_of(double a) {
  return from_bits((bits_of(a) >> 52) | 0x4330000000000000u) - (4503599627370496.0 + 1023.0);
}
FORMULA_FN float exponent_of(float a) {
  return from_bits((bits_of(a) >> 23) | 0x4b000000u) - (8388608.0f + 127.0f);
}
FORMULA_FN double significand_of(double a) {
  return from_bits((bits_of(a) & 0x000fffffffffffffu) | 0x3ff0000000000000u);
}
FORMULA_FN float significand_of(float a) { return from_bits((bits_of(a) & 0x007fffffu) | 0x3f800000u); }

FORMULA_FN bool any_of(bool which) { return which; }
