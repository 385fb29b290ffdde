// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
__global__ void next(int* v) { v[threadIdx.x] += 1; }
int main() {
  int h[16] = {}, *a, *b;
  cudaMalloc(&a, 16);
  cudaMalloc(&b, sizeof h);
  cudaMemcpy(a, h, sizeof h, cudaMemcpyHostToDevice);
  cudaMemset(b, 0, sizeof h);
  next<<<1, 4>>>(a);
  cudaMemcpy(h, b, sizeof h, cudaMemcpyHostToDevice);
  cudaFree(a);
  cudaFree(b);
  cudaFree(a);
  printf("%d\n", h[15]);
}
/* remedies_test
finds 8 error: a has 16 bytes (line 6), 64 are needed: allocate count * sizeof(…) bytes
finds 11 error: use cudaMemcpyDeviceToHost, or exchange the pointers; the first one is written
finds 14 error: free it once; line 12 freed it
fix 6: cudaMalloc(&a, 16 * sizeof(int));
fix 11: cudaMemcpy(h, b, sizeof h, cudaMemcpyDeviceToHost);
fix 14:
prints 0
*/
