// SPDX-License-Identifier: Apache-2.0
// The tensor core kernels of bf16.
#include "ops/matmul/kernels/hopper/wgmma_launch.cuh"

namespace tessera::matmul {

void run_bf16(WgmmaPart& part, Run& run) {
  run_tiles<ptx::Bf16>(part, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, false, run);
}

}  // namespace tessera::matmul
