// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
__global__ void add(float* y) { y[threadIdx.x] += 1; }
int main() {
  float h[32] = {}, *d;
  cudaMalloc(&d, sizeof h);
  cudaMemcpy(d, h, sizeof h, cudaMemcpyHostToDevice);
  add<<<1, 32>>>(d);
  cudaDeviceSynchronize();
  printf("%g\n", h[9]);
  cudaFree(d);
}
/* remedies_test
finds 8 warning: copy the result back
fix 9: cudaMemcpy(h, d, 128, cudaMemcpyDeviceToHost);
prints 1
*/
