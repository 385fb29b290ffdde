// SPDX-License-Identifier: Apache-2.0
// CPU baseline: OpenBLAS, one entry after another, because Debian's 0.3.21 has no batched product. OpenBLAS
// itself chooses the number of threads for an entry.
#include "matmul_batch.hpp"
#include "ops/matmul/baselines/gemm_child.hpp"

namespace tessera::matmul_batch {
namespace {

const Rung rung{matmul::openblas_variant<Problem>(
    "OpenBLAS, entry after entry: as installed (core=0), and with its kernels for AVX-512 (core=1)",
    []<class T>(Child& child, const Problem<T>& p, Run& run) {
      matmul::run_gemm<T>(
          child, p.batch, [&](std::int64_t e) { return p.entry(e); }, run);
    })};

}  // namespace
}  // namespace tessera::matmul_batch
