// SPDX-License-Identifier: Apache-2.0
// Square roots without a branch, as text for NVRTC: it includes nothing. A compiler's own root looks for
// zero, infinity, negative and tiny numbers each time, and what follows waits for that; here the caller looks
// once for many roots, by are_plain(odd, a): `odd` keeps the largest of what tells such numbers from others,
// one instruction each. Where it finds one, a root may be wrong, and all of them are taken again.

// What the hardware's estimates, a table and a parabola, are good for: about 20 bits of a double.
static __device__ __forceinline__ double reciprocal_root_estimate(double a) {
  double out;
  asm("rsqrt.approx.ftz.f64 %0, %1;" : "=d"(out) : "d"(a));
  return out;
}
static __device__ __forceinline__ float reciprocal_root_estimate(float a) {
  float out;
  asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(out) : "f"(a));
  return out;
}
static __device__ __forceinline__ float root_estimate(float a) {
  float out;
  asm("sqrt.approx.ftz.f32 %0, %1;" : "=f"(out) : "f"(a));
  return out;
}

// Half of a normal number, by its exponent: no arithmetic unit is busy with it.
static __device__ __forceinline__ double half_of(double a) {
  return __hiloint2double(__double2hiint(a) - 0x00100000, __double2loint(a));
}

// Neither zero nor infinite nor negative, and so far from zero that remainders of roots are normal numbers:
// by the leading bits, counted from those of the smallest such number, so that all others lie above.
static __device__ __forceinline__ void note(double a, unsigned& odd) {
  const unsigned above = unsigned(__double2hiint(a)) - 0x03500000u;
  odd = above > odd ? above : odd;
}
static __device__ __forceinline__ void note(float a, unsigned& odd) {
  const unsigned above = __float_as_uint(a) - 0x0d000000u;
  odd = above > odd ? above : odd;
}
static __device__ __forceinline__ bool are_plain(unsigned odd, double) { return odd < 0x7ca00000u; }
static __device__ __forceinline__ bool are_plain(unsigned odd, float) { return odd < 0x72800000u; }

// Correctly rounded: the estimate, one step of third order, and Markstein's rounding by the remainder.
static __device__ __forceinline__ double quick_root(double a, unsigned& odd) {
  note(a, odd);
  const double y = reciprocal_root_estimate(a), e = __fma_rn(a, -(y * y), 1.0);
  const double better = __fma_rn(__fma_rn(e, 0.375, 0.5), e * y, y), s = a * better;
  return __fma_rn(__fma_rn(-s, s, a), half_of(better), s);
}
static __device__ __forceinline__ float quick_root(float a, unsigned& odd) {
  note(a, odd);
  const float y = reciprocal_root_estimate(a), s = a * y;
  return __fmaf_rn(__fmaf_rn(-s, s, a), 0.5f * y, s);
}

// Within 1 unit of the last place (f32: 2): nothing is done about the last rounding.
static __device__ __forceinline__ double quick_near_root(double a, unsigned& odd) {
  note(a, odd);
  const double y = reciprocal_root_estimate(a), s = a * y, e = __fma_rn(-s, half_of(y), 0.5);
  return __fma_rn(s * e, __fma_rn(e, 1.5, 1.0), s);
}
static __device__ __forceinline__ float quick_near_root(float a, unsigned& odd) {
  note(a, odd);
  return root_estimate(a);
}
