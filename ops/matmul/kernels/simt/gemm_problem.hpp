// SPDX-License-Identifier: Apache-2.0
// The arguments and the launch of rung 17's kernels, for every element type. Operands of 16 and 8 bits are
// narrower than their sums, and support all options of a MixedProblem.
#pragma once
#include <cstdint>
#include <optional>
#include <type_traits>
#include "ops/matmul/epilogue/mixed_store.hpp"
#include "ops/matmul/gemm/widened.hpp"
#include "ops/matmul/matmul.hpp"
#include "ops/matmul/gemm/operands.hpp"
#include "ops/matmul/gemm/transposed.hpp"
#include "tessera/kernel.hpp"

namespace tessera::matmul {
inline namespace TESSERA_UNIT {

template <class T>
inline constexpr bool is_narrow = sizeof(T) < sizeof(SumOf<T>);

template <class T>
struct MixedGemm {
  MixedProblem problem;
  Matrix<const T> a, b;

  SIMT std::int64_t m() const { return problem.m; }
  SIMT std::int64_t n() const { return problem.n; }
  SIMT std::int64_t k() const { return problem.k; }
  SIMT void store(std::int64_t i, std::int64_t j, SumOf<T> sum) const {
    if (i < m() && j < n()) store_sum(problem, i, j, sum);
  }
};

// The problem that a rung makes from its arguments, and the one that a kernel takes.
template <class T>
using GemmArguments = std::conditional_t<is_narrow<T>, MixedProblem, Problem<T>>;
template <class T>
using GemmProblem = std::conditional_t<is_narrow<T>, MixedGemm<T>, Problem<T>>;

template <class T>
MixedGemm<T> mixed_gemm(const MixedProblem& p) {
  return {p, view_of<T>(p.a, p.m, p.k), view_of<T>(p.b, p.k, p.n)};
}
template <class T>
MixedGemm<T> transposed(const MixedGemm<T>& p) {
  return mixed_gemm<T>(p.problem.transposed());
}
template <class T>
GemmProblem<T> gemm_problem(const GemmArguments<T>& p) {
  if constexpr (is_narrow<T>) return mixed_gemm<T>(p);
  else return p;
}

// Calls use.template operator()<T>() with the kernels' type for the element.
template <class Use>
auto with_element_type(Element element, const Use& use) {
  switch (element) {
    case Element::f64:
      return use.template operator()<double>();
    case Element::f32:
      return use.template operator()<float>();
    case Element::bf16:
    case Element::f16:
      return use.template operator()<Bits16>();
    case Element::i8:
      return use.template operator()<std::int8_t>();
    default:
      return use.template operator()<Bits8>();
  }
}

// On GPUs the kernel may begin before the previous kernel in the stream has ended.
template <class Kernel, class Args>
void start(const Args& args, Run& run) {
#if defined(__CUDACC__)
  launch_kernel<Kernel, Pdl::on>(Kernel::launch(args), args, run);
#else
  launch_kernel<Kernel>(Kernel::launch(args), args, run);
#endif
}
template <class Kernel, class Args>
std::optional<int> registers() {
#if defined(__CUDACC__)
  return registers_of<Kernel, Args, Pdl::on>();
#else
  return registers_of<Kernel, Args>();
#endif
}

}  // namespace TESSERA_UNIT
}  // namespace tessera::matmul
