// SPDX-License-Identifier: Apache-2.0
// Rung 12's kernels for doubles.
#include "ops/matmul/kernels/mma/mma_launch.cuh"
#include "tessera/cuda/gpus.hpp"

namespace tessera::matmul {

int mma_code(const Device& device) {
  return cuda::ask_device(device.index, 0, [] {
    cudaFuncAttributes attributes{};
    cuda::check(cudaFuncGetAttributes(
        &attributes, multiply_blocks<MmaTile<MmaF64, mma_f64_tiles[0], Along::k, Along::k>>));
    return attributes.ptxVersion;
  });
}

void run_mma(const Problem<double>& p, const MmaJob& job, Run& run) { run_tiles<MmaF64>(p, job, run); }

}  // namespace tessera::matmul
