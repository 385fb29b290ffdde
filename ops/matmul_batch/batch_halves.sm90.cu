// SPDX-License-Identifier: Apache-2.0
// The batches' and groups' tensor core kernels of bf16 and f16.
#include "batch_launch.cuh"

namespace tessera::matmul_batch {

void run_bf16(const BatchJob& job, Run& run) {
  run_batch<ptx::Bf16, false>(job, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, run);
}
void run_f16(const BatchJob& job, Run& run) {
  run_batch<ptx::F16, false>(job, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, run);
}

void run_group_bf16(Entries entries, Run& run) {
  run_group<ptx::Bf16, false>(entries, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, run);
}
void run_group_f16(Entries entries, Run& run) {
  run_group<ptx::F16, false>(entries, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, run);
}

}  // namespace tessera::matmul_batch
