// SPDX-License-Identifier: Apache-2.0
// The tensor core kernels of i8.
#include "ops/matmul/kernels/wgmma/wgmma_launch.cuh"

namespace tessera::matmul {

void run_i8(WgmmaLaunch& sub_problem, Run& run) {
  run_tiles<ptx::S8>(sub_problem, CU_TENSOR_MAP_DATA_TYPE_UINT8, false, run);
}

}  // namespace tessera::matmul
