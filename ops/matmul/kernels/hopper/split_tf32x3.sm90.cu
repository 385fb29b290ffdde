// SPDX-License-Identifier: Apache-2.0
// The tensor core kernels of f32 factors in parts of TF32, three products.
#include "ops/matmul/kernels/hopper/split_launch.cuh"

namespace tessera::matmul {

void run_tf32x3(WgmmaLaunch& part, Run& run) { run_split_tile<Tf32x3>(part, run); }

}  // namespace tessera::matmul
