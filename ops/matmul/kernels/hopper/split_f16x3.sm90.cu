// SPDX-License-Identifier: Apache-2.0
// The tensor core kernels of f32 factors in parts of f16, three products.
#include "ops/matmul/kernels/hopper/split_launch.cuh"

namespace tessera::matmul {

void run_f16x3(WgmmaLaunch& part, Run& run) { run_split_tile<F16x3>(part, run); }

}  // namespace tessera::matmul
