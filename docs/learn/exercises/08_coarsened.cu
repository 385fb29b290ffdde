// SPDX-License-Identifier: Apache-2.0
// How often each value occurs: a thread counts several numbers, and adds what it found to the block's counts.
#include <cstdio>
#include <vector>

constexpr int values = 16, threads = 64, outputs = 4;

__global__ void count(const int* in, int* counts) {
  __shared__ int of_block[values];
  if (threadIdx.x < values) of_block[threadIdx.x] = 0;
  __syncthreads();
  const int first = blockIdx.x * threads * outputs + threadIdx.x;
  for (int i = 0; i < outputs; ++i) atomicAdd(&of_block[in[first + i * threads]], 1);
  __syncthreads();
  if (threadIdx.x < values) atomicAdd(&counts[threadIdx.x], of_block[threadIdx.x]);
}

int main() {
  const int blocks = 4, n = blocks * threads * outputs;
  std::vector<int> in(n), counts(values);
  for (int i = 0; i < n; ++i) in[i] = i % values;
  int *d_in, *d_counts;
  cudaMalloc(&d_in, n * sizeof(int));
  cudaMalloc(&d_counts, values * sizeof(int));
  cudaMemcpy(d_in, in.data(), n * sizeof(int), cudaMemcpyHostToDevice);
  count<<<blocks, threads>>>(d_in, d_counts);
  cudaMemcpy(counts.data(), d_counts, values * sizeof(int), cudaMemcpyDeviceToHost);
  std::printf("first %d, last %d, expected: %d\n", counts[0], counts[values - 1], n / values);
  cudaFree(d_in);
  cudaFree(d_counts);
}
