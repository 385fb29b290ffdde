// SPDX-License-Identifier: Apache-2.0
// The sum of each block's numbers. The last steps are one warp's and unrolled: they need no barrier of the
// block. An old idea, from GPUs whose lanes ran in step.
#include <cstdio>
#include <vector>

constexpr int threads = 128;

__global__ void sum(const int* in, int* sums) {
  __shared__ int part[threads];
  const int t = threadIdx.x;
  part[t] = in[blockIdx.x * threads + t];
  __syncthreads();
  for (int half = threads / 2; half >= 32; half /= 2) {
    if (t < half) part[t] += part[t + half];
    __syncthreads();
  }
  if (t < 32) {
#pragma unroll
    for (int half = 16; half > 0; half /= 2) {
      if (t < half) part[t] += part[t + half];
    }
  }
  if (t == 0) sums[blockIdx.x] = part[0];
}

int main() {
  const int blocks = 4, n = blocks * threads;
  std::vector<int> in(n, 1), sums(blocks);
  int *d_in, *d_sums;
  cudaMalloc(&d_in, n * sizeof(int));
  cudaMalloc(&d_sums, blocks * sizeof(int));
  cudaMemcpy(d_in, in.data(), n * sizeof(int), cudaMemcpyHostToDevice);
  sum<<<blocks, threads>>>(d_in, d_sums);
  cudaMemcpy(sums.data(), d_sums, blocks * sizeof(int), cudaMemcpyDeviceToHost);
  std::printf("first %d, last %d, expected: %d\n", sums[0], sums[blocks - 1], threads);
  cudaFree(d_in);
  cudaFree(d_sums);
}
