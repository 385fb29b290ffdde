// SPDX-License-Identifier: Apache-2.0
// What depends on __CUDA_ARCH__ is one thing in a kernel and another in the host's code.
#include <cstdio>

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ < 600
__device__ double add_by_hand(double* to, double value) { return *to += value; }
#endif

__host__ __device__ int where() {
#ifdef __CUDA_ARCH__
  return 100 + threadIdx.x;
#else
  return 1;
#endif
}

__global__ void ask(int* out) { out[threadIdx.x] = where() + __CUDA_ARCH__; }

int main() {
  int *p, h[2];
  cudaMalloc(&p, sizeof h);
  ask<<<1, 2>>>(p);
  cudaMemcpy(h, p, sizeof h, cudaMemcpyDeviceToHost);
  cudaFree(p);
  printf("%d %d\n", where(), h[1]);
  return where() == 1 && h[1] == 1001 ? 0 : 1;
}
