// SPDX-License-Identifier: Apache-2.0
// The tensor core kernels of bf16.
#include "tensor_run.cuh"

namespace tessera::matmul {

void run_bf16(TensorJob& job, bool f32, Run& run) {
  constexpr CUtensorMapDataType type = CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
  if (f32) run_tiles<ptx::Bf16, float>(job, type, run);
  else run_tiles<ptx::Bf16, __nv_bfloat16>(job, type, run);
}

}  // namespace tessera::matmul
