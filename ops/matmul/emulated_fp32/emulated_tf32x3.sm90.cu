// SPDX-License-Identifier: Apache-2.0
// The tensor core kernels of f32 operands as TF32 components, three products.
#include "ops/matmul/emulated_fp32/emulated_fp32_launch.cuh"

namespace tessera::matmul {

void run_tf32x3(WgmmaLaunch& sub_problem, Run& run) { run_emulated_tile<Tf32x3>(sub_problem, run); }

}  // namespace tessera::matmul
