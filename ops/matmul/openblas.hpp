// SPDX-License-Identifier: Apache-2.0
// One call of OpenBLAS, for the child processes that hold it against the rungs.
#pragma once
#include "library_gemm.hpp"

namespace tessera::matmul {

inline constexpr const char* openblas_library = "libopenblas.so.0";

template <class T>
using CblasGemm = void (*)(int order, int op_a, int op_b, int m, int n, int k, T alpha, const T* a, int lda,
                           const T* b, int ldb, T beta, T* c, int ldc);

template <class T>
void call_cblas(const Gemm<T>& g) {
  constexpr int row_major = 101, as_it_is = 111, transpose = 112;
  static const auto gemm = reinterpret_cast<CblasGemm<T>>(
      symbol(openblas_library, std::is_same_v<T, float> ? "cblas_sgemm" : "cblas_dgemm"));
  static const auto set_threads =
      reinterpret_cast<void (*)(int)>(symbol(openblas_library, "openblas_set_num_threads"));
  const GemmRequest& r = g.request;
  set_threads(r.threads);
  gemm(row_major, r.transposed_a ? transpose : as_it_is, r.transposed_b ? transpose : as_it_is,
       static_cast<int>(r.m), static_cast<int>(r.n), static_cast<int>(r.k), static_cast<T>(r.alpha), g.a,
       static_cast<int>(g.lda()), g.b, static_cast<int>(g.ldb()), static_cast<T>(r.beta), g.c,
       static_cast<int>(g.ldc()));
}

}  // namespace tessera::matmul
