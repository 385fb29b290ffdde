// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
__global__ void halve(double* v, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) v[i] = v[i] / 2;
}
int main() {
  const int n = 80;
  double h[n], *v;
  for (int i = 0; i < n; ++i) h[i] = 2 * i;
  cudaMalloc(&v, n * sizeof(double));
  cudaMemcpy(v, h, n, cudaMemcpyHostToDevice);
  halve<<<1, 32>>>(v, n);
  cudaMemcpy(h, v, sizeof h, cudaMemcpyDeviceToHost);
  printf("%g\n", h[n - 1]);
  cudaFree(v);
}
/* remedies_test
finds 4 error: cudaMemcpy at line 11 sets 80 of 640 bytes of v: it counts bytes, not elements; multiply b
fix 11: cudaMemcpy(v, h, n * sizeof(double), cudaMemcpyHostToDevice);
prints 79
*/
