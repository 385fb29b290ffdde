// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
__device__ unsigned done = 0;
__global__ void sum(float* partial, float* result) {
  if (threadIdx.x != 0) return;
  partial[blockIdx.x] = 1;
  if (atomicAdd(&done, 1) == gridDim.x - 1) {
    float s = 0;
    for (int i = 0; i < gridDim.x; i++) s += partial[i];
    *result = s;
  }
}
int main() {
  float *p, *r, h;
  cudaMalloc(&p, 64 * sizeof h);
  cudaMalloc(&r, sizeof h);
  sum<<<64, 32>>>(p, r);
  cudaMemcpy(&h, r, sizeof h, cudaMemcpyDeviceToHost);
  printf("%g\n", h);
  cudaFree(p);
  cudaFree(r);
}
/* remedies_test
finds 9 error: the atomic of line 7 orders nothing without a fence: __threadfence() before it, after line 6
fix 6+ __threadfence();
prints 64
*/
