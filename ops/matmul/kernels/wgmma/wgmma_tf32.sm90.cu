// SPDX-License-Identifier: Apache-2.0
// The tensor core kernels of TF32, to which the TMA rounds f32 while it loads.
#include "ops/matmul/kernels/wgmma/wgmma_launch.cuh"

namespace tessera::matmul {

void run_tf32(WgmmaLaunch& sub_problem, Run& run) {
  run_tiles<ptx::Tf32>(sub_problem, CU_TENSOR_MAP_DATA_TYPE_TFLOAT32, false, run);
}

}  // namespace tessera::matmul
