// SPDX-License-Identifier: Apache-2.0
// Square roots without a branch, as text for NVRTC: it includes nothing. The compiler's root tests each
// argument for zero, infinity, negative and tiny numbers. Here `odd` accumulates the maximum of a key that is
// large for such arguments, one instruction each, and the caller tests it once for many roots: if
// are_plain(odd, a) is false, a root may be wrong, and the caller takes all of them again.

// The hardware's approximations, a table and a parabola: about 20 bits of a double.
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

// Half of a normal number, by its exponent: an integer instruction, which leaves the FP64 units free.
static __device__ __forceinline__ double half_of(double a) {
  return __hiloint2double(__double2hiint(a) - 0x00100000, __double2loint(a));
}

// Accumulates the key of `a`: its leading bits minus those of the smallest ordinary number. Ordinary numbers
// are positive, finite, and so large that the remainders of their roots are normal; all others have larger
// keys.
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

// Correctly rounded: the approximation, one step of third order, and Markstein's rounding by the remainder.
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

// Within 1 unit in the last place (f32: 2): without the final rounding step.
static __device__ __forceinline__ double quick_near_root(double a, unsigned& odd) {
  note(a, odd);
  const double y = reciprocal_root_estimate(a), s = a * y, e = __fma_rn(-s, half_of(y), 0.5);
  return __fma_rn(s * e, __fma_rn(e, 1.5, 1.0), s);
}
static __device__ __forceinline__ float quick_near_root(float a, unsigned& odd) {
  note(a, odd);
  return root_estimate(a);
}
