// SPDX-License-Identifier: Apache-2.0
// Evaluates a formula at a point in a function that is not inlined: the interpreter, which holds every
// function of formulas, exists once per build of the kernels, not once per call site.
#pragma once
#include "tessera/formula/interpret.hpp"

namespace tessera::integration {
inline namespace TESSERA_UNIT {

#if defined(__CUDACC__)
template <class T>
__host__ __device__ __noinline__ T evaluate(const formula::Program<T>& program, T x) {
  return formula::interpret(program, &x);
}
template <class T>
__host__ __device__ __noinline__ T evaluate(const formula::Program<T>& program, const T* x) {
  return formula::interpret(program, x);
}
#else
template <class T>
T evaluate(const formula::Program<T>& program, T x);
template <class T>
T evaluate(const formula::Program<T>& program, const T* x);  // several variables
extern template double evaluate(const formula::Program<double>&, const double*);
extern template float evaluate(const formula::Program<float>&, float);
extern template double evaluate(const formula::Program<double>&, double);
#endif

}  // namespace TESSERA_UNIT
}  // namespace tessera::integration
