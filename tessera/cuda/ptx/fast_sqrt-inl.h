// SPDX-License-Identifier: Apache-2.0
// Branch-free square roots. The file is embedded as a string in runtime-compiled kernels, so it has no
// #include. The compiler's sqrt checks every argument for special cases (zero, infinity, negative,
// subnormal); here the caller checks once for a batch: `max_key` accumulates the maximum of a key that is
// large for such arguments. If all_in_fast_range<T>(max_key) is false, a root may be wrong, and the caller
// recomputes the batch.

// The hardware's approximations: a table and quadratic interpolation, about 20 bits for f64.
static __device__ __forceinline__ double rsqrt_approx(double a) {
  double out;
  asm("rsqrt.approx.ftz.f64 %0, %1;" : "=d"(out) : "d"(a));
  return out;
}
static __device__ __forceinline__ float rsqrt_approx(float a) {
  float out;
  asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(out) : "f"(a));
  return out;
}
static __device__ __forceinline__ float sqrt_approx(float a) {
  float out;
  asm("sqrt.approx.ftz.f32 %0, %1;" : "=f"(out) : "f"(a));
  return out;
}

// Halves a normal number by decrementing its exponent: an integer instruction that leaves FP64 units free.
static __device__ __forceinline__ double half_of(double a) {
  return __hiloint2double(__double2hiint(a) - 0x00100000, __double2loint(a));
}

// Accumulates the key of `a`: its leading bits minus those of the smallest number of the fast range. Numbers
// in the range are positive, finite, and so large that the residuals of their roots are normal; all others
// have larger keys.
static __device__ __forceinline__ void accumulate_key(double a, unsigned& max_key) {
  const unsigned key = unsigned(__double2hiint(a)) - 0x03500000u;
  max_key = key > max_key ? key : max_key;
}
static __device__ __forceinline__ void accumulate_key(float a, unsigned& max_key) {
  const unsigned key = __float_as_uint(a) - 0x0d000000u;
  max_key = key > max_key ? key : max_key;
}
template <class T>
static __device__ __forceinline__ bool all_in_fast_range(unsigned max_key) {
  return max_key < (sizeof(T) == 8 ? 0x7ca00000u : 0x72800000u);
}

// Returns the correctly rounded root. The approximation, for f64 refined by one third-order iteration, is
// corrected by the residual a - s * s with fused multiply-adds (Markstein).
static __device__ __forceinline__ double sqrt_rn_fast(double a, unsigned& max_key) {
  accumulate_key(a, max_key);
  const double y = rsqrt_approx(a), e = __fma_rn(a, -(y * y), 1.0);
  const double better = __fma_rn(__fma_rn(e, 0.375, 0.5), e * y, y), s = a * better;
  return __fma_rn(__fma_rn(-s, s, a), half_of(better), s);
}
static __device__ __forceinline__ float sqrt_rn_fast(float a, unsigned& max_key) {
  accumulate_key(a, max_key);
  const float y = rsqrt_approx(a), s = a * y;
  return __fmaf_rn(__fmaf_rn(-s, s, a), 0.5f * y, s);
}

// Like sqrt_rn_fast, but without the final residual correction: at most 1 ulp (f64) or 2 ulp (f32).
static __device__ __forceinline__ double sqrt_approx_fast(double a, unsigned& max_key) {
  accumulate_key(a, max_key);
  const double y = rsqrt_approx(a), s = a * y, e = __fma_rn(-s, half_of(y), 0.5);
  return __fma_rn(s * e, __fma_rn(e, 1.5, 1.0), s);
}
static __device__ __forceinline__ float sqrt_approx_fast(float a, unsigned& max_key) {
  accumulate_key(a, max_key);
  return sqrt_approx(a);
}
