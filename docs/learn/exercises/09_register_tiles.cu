// SPDX-License-Identifier: Apache-2.0
// Each thread reads a patch of 8 numbers from shared memory into registers, and works on them there.
// The result is right; the reads take eight times as long as they must.
#include <cstdio>
#include <vector>

constexpr int threads = 64, patch = 8, tile = threads * patch;

__global__ void polynomial(const float* in, float* sums) {
  __shared__ float numbers[tile];
  const int t = threadIdx.x;
  for (int i = t; i < tile; i += threads) numbers[i] = in[blockIdx.x * tile + i];
  __syncthreads();
  float mine[patch];
  for (int i = 0; i < patch; ++i) mine[i] = numbers[t * patch + i];
  float sum = 0;
  for (int i = 0; i < patch; ++i)
    for (int j = 0; j < patch; ++j) sum += mine[i] * mine[j];
  sums[blockIdx.x * threads + t] = sum;
}

int main() {
  const int blocks = 4;
  const std::vector<float> in(blocks * tile, 1);
  std::vector<float> sums(blocks * threads);
  float *d_in, *d_sums;
  cudaMalloc(&d_in, in.size() * sizeof(float));
  cudaMalloc(&d_sums, sums.size() * sizeof(float));
  cudaMemcpy(d_in, in.data(), in.size() * sizeof(float), cudaMemcpyHostToDevice);
  polynomial<<<blocks, threads>>>(d_in, d_sums);
  cudaMemcpy(sums.data(), d_sums, sums.size() * sizeof(float), cudaMemcpyDeviceToHost);
  std::printf("first %g, last %g, expected: %d\n", sums[0], sums.back(), patch * patch);
  cudaFree(d_in);
  cudaFree(d_sums);
}
