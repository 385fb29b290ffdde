// SPDX-License-Identifier: Apache-2.0
// Tensor core kernels for f32 operands decomposed into f16 components (three products) or bf16 components
// (six products): the device chooses.
#include "ops/matmul/emulated_fp32/emulated_fp32_launch.cuh"

namespace tessera::matmul {

void run_f16x3(EmulatedLaunch& x, Run& run) { run_emulated_tile<F16x3, Bf16x6>(x, run); }

}  // namespace tessera::matmul
