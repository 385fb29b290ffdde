// SPDX-License-Identifier: Apache-2.0
// CPU baseline: OpenBLAS, the distribution's free BLAS.
#include "ops/matmul/baselines/gemm_child.hpp"

namespace tessera::matmul {
namespace {

const Rung rung{
    openblas_variant<Problem>("OpenBLAS: as installed (core=0), and with its kernels for AVX-512 (core=1)",
                              []<class T>(Child& child, const Problem<T>& p, Run& run) {
                                run_gemm<T>(
                                    child, 1, [&](std::int64_t) { return p; }, run);
                              })};

}  // namespace
}  // namespace tessera::matmul
