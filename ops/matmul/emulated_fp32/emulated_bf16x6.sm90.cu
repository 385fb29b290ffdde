// SPDX-License-Identifier: Apache-2.0
// Tensor core kernels for f32 operands decomposed into bf16 components, six products.
#include "ops/matmul/emulated_fp32/emulated_fp32_launch.cuh"

namespace tessera::matmul {

void run_bf16x6(WgmmaLaunch& sub_problem, Run& run) { run_emulated_tile<Bf16x6>(sub_problem, run); }

}  // namespace tessera::matmul
