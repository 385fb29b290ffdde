// SPDX-License-Identifier: Apache-2.0
// Tensor core kernels for f32 operands decomposed into TF32 components, three products.
#include "ops/matmul/emulated_fp32/emulated_fp32_launch.cuh"

namespace tessera::matmul {

void run_tf32x3(EmulatedLaunch& x, Run& run) { run_emulated_tile<Tf32x3, Tf32x3>(x, run); }

}  // namespace tessera::matmul
