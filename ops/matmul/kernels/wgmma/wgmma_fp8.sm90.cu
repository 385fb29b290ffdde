// SPDX-License-Identifier: Apache-2.0
// The tensor core kernels of 8-bit floats in any mix.
#include "ops/matmul/kernels/wgmma/wgmma_launch.cuh"

namespace tessera::matmul {

void run_e4m3(WgmmaLaunch& sub_problem, bool b_is_e5m2, bool fast_accum, Run& run) {
  constexpr CUtensorMapDataType type = CU_TENSOR_MAP_DATA_TYPE_UINT8;
  if (b_is_e5m2) run_tiles<ptx::E4m3E5m2, true>(sub_problem, type, fast_accum, run);
  else run_tiles<ptx::E4m3E4m3, true>(sub_problem, type, fast_accum, run);
}

void run_e5m2(WgmmaLaunch& sub_problem, bool b_is_e5m2, bool fast_accum, Run& run) {
  constexpr CUtensorMapDataType type = CU_TENSOR_MAP_DATA_TYPE_UINT8;
  if (b_is_e5m2) run_tiles<ptx::E5m2E5m2, true>(sub_problem, type, fast_accum, run);
  else run_tiles<ptx::E5m2E4m3, true>(sub_problem, type, fast_accum, run);
}

}  // namespace tessera::matmul
