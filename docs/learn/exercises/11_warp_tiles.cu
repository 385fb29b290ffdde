// SPDX-License-Identifier: Apache-2.0
// The sum of many numbers: each warp adds a slice of them by shuffles, without waiting for the others.
#include <cstdio>
#include <vector>

constexpr int threads = 128, warps = threads / 32;

__global__ void sum(const int* in, int* total, int n) {
  __shared__ int of_warp[warps];
  const int i = blockIdx.x * threads + threadIdx.x, lane = threadIdx.x % 32;
  if (lane == 0) of_warp[threadIdx.x / 32] = 0;
  if (i < n) {
    int mine = in[i];
    for (int half = 16; half > 0; half /= 2) mine += __shfl_down_sync(0xffffffff, mine, half);
    if (lane == 0) of_warp[threadIdx.x / 32] = mine;
  }
  __syncthreads();
  if (threadIdx.x == 0)
    for (int warp = 0; warp < warps; ++warp) atomicAdd(total, of_warp[warp]);
}

int main() {
  const int n = 1000;
  const std::vector<int> in(n, 1);
  int total = 0, *d_in, *d_total;
  cudaMalloc(&d_in, n * sizeof(int));
  cudaMalloc(&d_total, sizeof(int));
  cudaMemcpy(d_in, in.data(), n * sizeof(int), cudaMemcpyHostToDevice);
  cudaMemset(d_total, 0, sizeof(int));
  sum<<<(n + threads - 1) / threads, threads>>>(d_in, d_total, n);
  cudaMemcpy(&total, d_total, sizeof(int), cudaMemcpyDeviceToHost);
  std::printf("sum %d, expected: %d\n", total, n);
  cudaFree(d_in);
  cudaFree(d_total);
}
