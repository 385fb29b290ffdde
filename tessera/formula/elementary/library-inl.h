// SPDX-License-Identifier: Apache-2.0
// Functions left to a library: the C library on the host, CUDA's on a GPU. fmod is exact in both, so the
// results are identical. Included inside a namespace by its users, who include <math.h> on the host.

#define FORMULA_LIBRARY(name)                            \
  FORMULA_FN double name(double a) { return ::name(a); } \
  FORMULA_FN float name(float a) { return ::name##f(a); }
FORMULA_LIBRARY(erf)
FORMULA_LIBRARY(erfc)
FORMULA_LIBRARY(tgamma)
FORMULA_LIBRARY(j0)
FORMULA_LIBRARY(j1)
FORMULA_LIBRARY(y0)
FORMULA_LIBRARY(y1)
#undef FORMULA_LIBRARY
#if defined(__CUDA_ARCH__)
FORMULA_FN double lgamma(double a) { return ::lgamma(a); }
FORMULA_FN float lgamma(float a) { return ::lgammaf(a); }
#else  // the plain name also writes the sign to a variable that all threads share
FORMULA_FN double lgamma(double a) {
  int sign = 0;
  return ::lgamma_r(a, &sign);
}
FORMULA_FN float lgamma(float a) {
  int sign = 0;
  return ::lgammaf_r(a, &sign);
}
#endif

FORMULA_FN double fmod(double a, double b) { return ::fmod(a, b); }
FORMULA_FN float fmod(float a, float b) { return ::fmodf(a, b); }
