// SPDX-License-Identifier: Apache-2.0
// The tensor core kernels of bf16.
#include "tensor_run.cuh"

namespace tessera::matmul {

void run_bf16(TensorPart& part, Run& run) {
  run_tiles<ptx::Bf16>(part, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, false, run);
}

}  // namespace tessera::matmul
