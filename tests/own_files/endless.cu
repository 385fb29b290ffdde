// SPDX-License-Identifier: Apache-2.0
// A race, and then a loop that never ends: it waits for a word, or with an argument forgets its step.
#include <cstdio>

__global__ void wait(volatile int* flag) {
  __shared__ int s;
  if (threadIdx.x == 0) s = 1;
  int v = s;
  while (*flag == 0) continue;
  flag[threadIdx.x] = v;
}

__global__ void add(float* y, int n) {
  for (int i = threadIdx.x; i < n;) y[i] += 1;
}

int main(int argc, char**) {
  int* words = nullptr;
  cudaMalloc(&words, 64 * sizeof(int));
  cudaMemset(words, 0, 64 * sizeof(int));
  if (argc == 1) wait<<<1, 64>>>(words);
  else add<<<1, 64>>>(reinterpret_cast<float*>(words), 64);
  const cudaError_t error = cudaDeviceSynchronize();
  puts(cudaGetErrorName(error));
  return error != cudaSuccess;
}
