// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
__global__ void squares(float* v, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) v[i] = i * i;
}
int main() {
  const int n = 64;
  float h[n] = {}, *v;
  cudaMalloc(&v, n * sizeof(float));
  squares<<<2, 32>>>(v, n);
  cudaMemcpy(h, v, n, cudaMemcpyDeviceToHost);
  printf("%g\n", h[n - 1]);
  cudaFree(v);
}
/* remedies_test
finds 12 warning: a copy counts bytes, not elements: copy n * sizeof(…), here 256 bytes
fix 12: cudaMemcpy(h, v, 256, cudaMemcpyDeviceToHost);
prints 3969
*/
