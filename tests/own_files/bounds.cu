// SPDX-License-Identifier: Apache-2.0
// No block of a kernel has more threads than its __launch_bounds__ say.
#include <cstdio>

template <int most>
__global__ void __launch_bounds__(most, 2) fill(int* a) {
  a[threadIdx.x] = most;
}

int main() {
  int *d, h = 0, blocks = -1, grid = 0, best = 0;
  cudaMalloc(&d, 256 * sizeof *d);
  fill<64><<<1, 128>>>(d);
  const cudaError_t failed = cudaGetLastError();
  fill<128><<<1, 128>>>(d);
  cudaMemcpy(&h, d, sizeof h, cudaMemcpyDeviceToHost);
  cudaFree(d);
  cudaFuncAttributes about;
  cudaFuncGetAttributes(&about, fill<64>);
  cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, fill<64>, 128, 0);
  cudaOccupancyMaxPotentialBlockSize(&grid, &best, fill<64>);
  printf("%s %d %d %d %d\n", cudaGetErrorName(failed), h, about.maxThreadsPerBlock, blocks, best);
}
