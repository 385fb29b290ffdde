// SPDX-License-Identifier: Apache-2.0
// A sum is cleared by one thread, and no barrier stands before the others add to it. That this thread adds to
// it as well, by an atomic, orders nothing. A table that is constant already is not to be declared so.
#include <cstdio>

__constant__ int weights[4] = {1, 2, 3, 4};

__global__ void sum(const int* values, int* out) {
  __shared__ int total;
  if (threadIdx.x == 0) total = 0;
  int own = 0;
  for (int i = 0; i < 64; ++i) own += weights[i % 4];
  atomicAdd(&total, own * values[threadIdx.x]);  // finds: race
  __syncthreads();
  if (threadIdx.x == 0) *out = total;
}

int main() {
  int host[64] = {1}, *values, *out, result;
  cudaMalloc(&values, sizeof host);
  cudaMalloc(&out, sizeof result);
  cudaMemcpy(values, host, sizeof host, cudaMemcpyHostToDevice);
  sum<<<1, 64>>>(values, out);
  cudaMemcpy(&result, out, sizeof result, cudaMemcpyDeviceToHost);
  std::printf("%d\n", result);
  cudaFree(values);
  cudaFree(out);
}
