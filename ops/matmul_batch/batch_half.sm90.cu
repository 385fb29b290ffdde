// SPDX-License-Identifier: Apache-2.0
// Tensor core kernels for batches and groups of bf16, f16, TF32 and i8.
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

void run_tf32(const BatchJob& job, Run& run) {
  run_batch<ptx::Tf32, false>(job, CU_TENSOR_MAP_DATA_TYPE_TFLOAT32, run);
}
void run_i8(const BatchJob& job, Run& run) {
  run_batch<ptx::S8, false>(job, CU_TENSOR_MAP_DATA_TYPE_UINT8, run);
}

void run_group_tf32(Entries entries, Run& run) {
  run_group<ptx::Tf32, false>(entries, CU_TENSOR_MAP_DATA_TYPE_TFLOAT32, run);
}
void run_group_i8(Entries entries, Run& run) {
  run_group<ptx::S8, false>(entries, CU_TENSOR_MAP_DATA_TYPE_UINT8, run);
}

}  // namespace tessera::matmul_batch
