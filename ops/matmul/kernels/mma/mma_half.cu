// SPDX-License-Identifier: Apache-2.0
// Rung 12's kernels for bf16 and f16.
#include "ops/matmul/kernels/mma/mma_launch.cuh"

namespace tessera::matmul {

void run_mma_bf16(const MixedProblem& p, const MmaJob& job, Run& run) {
  run_tiles<MmaHalf<__nv_bfloat16>>(p, job, run);
}

void run_mma_f16(const MixedProblem& p, const MmaJob& job, Run& run) {
  run_tiles<MmaHalf<__half>>(p, job, run);
}

}  // namespace tessera::matmul
