// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
__global__ void square(double* v) { v[threadIdx.x] *= v[threadIdx.x]; }
int main() {
  const int n = 64;
  double h[n], *d;
  for (int i = 0; i < n; i++) h[i] = i;
  cudaMalloc(&d, n);
  cudaMemcpy(d, h, n * sizeof(double), cudaMemcpyHostToDevice);
  square<<<1, n>>>(d);
  cudaMemcpy(h, d, n * sizeof(double), cudaMemcpyDeviceToHost);
  printf("%g\n", h[9]);
  cudaFree(d);
}
/* remedies_test
finds 9 error: d has 64 bytes (line 8), 512 are needed
fix 8: cudaMalloc(&d, n * sizeof(double));
prints 81
*/
