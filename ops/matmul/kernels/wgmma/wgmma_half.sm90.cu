// SPDX-License-Identifier: Apache-2.0
// The tensor core kernels of bf16 and f16.
#include "ops/matmul/kernels/wgmma/wgmma_launch.cuh"

namespace tessera::matmul {

void run_bf16(WgmmaLaunch& sub_problem, Run& run) {
  run_tiles<ptx::Bf16>(sub_problem, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, false, run);
}

void run_f16(WgmmaLaunch& sub_problem, Run& run) {
  run_tiles<ptx::F16>(sub_problem, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, false, run);
}

}  // namespace tessera::matmul
