// SPDX-License-Identifier: Apache-2.0
// Rung 12's kernels of doubles.
#include "mma_launch.cuh"

namespace tessera::matmul {

int mma_code(const Device& device) {
  const cuda::OnDevice on_device(device.index);
  cudaFuncAttributes attributes{};
  const auto kernel = multiply_blocks<MmaTile<MmaF64, mma_f64_tiles[0], Along::k, Along::k>>;
  if (cudaFuncGetAttributes(&attributes, kernel) == cudaSuccess) return attributes.ptxVersion;
  (void)cudaGetLastError();  // asked and answered: it must not reach the next check
  return 0;
}

void run_mma(const Problem<double>& p, const MmaJob& job, Run& run) {
  run_tiles<MmaF64>(p, job, mma_f64, run);
}

}  // namespace tessera::matmul
