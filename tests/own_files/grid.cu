// SPDX-License-Identifier: Apache-2.0
// A sum by a grid that fills the device, and with an argument by so many blocks.
#include <cooperative_groups.h>
#include <cstdio>
#include <cstdlib>
namespace cg = cooperative_groups;

__global__ void sum(int* part, int* out) {
  atomicAdd(&part[blockIdx.x], 1);
  cg::this_grid().sync();
  if (cg::this_grid().thread_rank() != 0) return;
  for (int b = 0; b < int(gridDim.x); ++b) *out += part[b];
}

int main(int argc, char** argv) {
  int threads = 1024, fit = 0, result = 0, *part, *out;
  cudaDeviceProp device;
  cudaGetDeviceProperties(&device, 0);
  cudaOccupancyMaxActiveBlocksPerMultiprocessor(&fit, sum, threads, 0);
  const int blocks = argc > 1 ? atoi(argv[1]) : fit * device.multiProcessorCount;
  cudaMalloc(&part, blocks * sizeof(int));
  cudaMalloc(&out, sizeof(int));
  cudaMemset(part, 0, blocks * sizeof(int));
  cudaMemset(out, 0, sizeof(int));
  void* arguments[] = {&part, &out};
  cudaLaunchCooperativeKernel(sum, blocks, threads, arguments);
  cudaMemcpy(&result, out, sizeof(int), cudaMemcpyDeviceToHost);
  printf("%d\n", result - blocks * threads);
  cudaFree(part);
  cudaFree(out);
}
