// SPDX-License-Identifier: Apache-2.0
// The interpreter for the executor's two builds. Each nvcc kernel has its own, because calls between object
// files would cost registers.
#include "ops/integrate/kernels/program_evaluation.hpp"

#if !defined(__CUDACC__)
namespace tessera::integration {
inline namespace TESSERA_UNIT {

template <class T>
T evaluate(const formula::Program<T>& program, T x) {
  return formula::interpret(program, &x);
}

template <class T>
T evaluate(const formula::Program<T>& program, const T* x) {
  return formula::interpret(program, x);
}

template double evaluate(const formula::Program<double>&, const double*);
template float evaluate(const formula::Program<float>&, float);
template double evaluate(const formula::Program<double>&, double);

}  // namespace TESSERA_UNIT
}  // namespace tessera::integration
#endif
