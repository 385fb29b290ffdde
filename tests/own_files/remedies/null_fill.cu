// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
__global__ void next(int* v) { v[threadIdx.x] += 1; }
int main() {
  int *v, h[32];
  size_t n = (size_t)1 << 48;
  cudaMalloc(&v, n * sizeof(int));
  cudaMemset(v, 0, sizeof h);
  next<<<1, 32>>>(v);
  cudaMemcpy(h, v, sizeof h, cudaMemcpyDeviceToHost);
  printf("%d\n", h[0]);
  cudaFree(v);
}
/* remedies_test
finds 7 error: ask for fewer bytes, and stop where the call does not return cudaSuccess
fix 6: size_t n = 32;
prints 1
*/
