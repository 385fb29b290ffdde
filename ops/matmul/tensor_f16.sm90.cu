// SPDX-License-Identifier: Apache-2.0
// The tensor core kernels of f16.
#include "tensor_run.cuh"

namespace tessera::matmul {

void run_f16(TensorJob& job, bool f32, Run& run) {
  constexpr CUtensorMapDataType type = CU_TENSOR_MAP_DATA_TYPE_FLOAT16;
  if (f32) run_tiles<ptx::F16, float>(job, type, run);
  else run_tiles<ptx::F16, __half>(job, type, run);
}

}  // namespace tessera::matmul
