// SPDX-License-Identifier: Apache-2.0
// Tensor core kernels for f32 operands decomposed into f16 components, three products.
#include "ops/matmul/emulated_fp32/emulated_fp32_launch.cuh"

namespace tessera::matmul {

void run_f16x3(WgmmaLaunch& sub_problem, Run& run) { run_emulated_tile<F16x3>(sub_problem, run); }

}  // namespace tessera::matmul
