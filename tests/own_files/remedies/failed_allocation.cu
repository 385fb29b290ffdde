// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
__global__ void fill(double* v, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) v[i] = 1;
}
int main() {
  int side = 20000;
  int bytes = side * side * sizeof(double);
  double *v = nullptr, h = 0;
  cudaMalloc(&v, bytes);
  fill<<<1, 64>>>(v, 64);
  cudaMemcpy(&h, v, sizeof h, cudaMemcpyDeviceToHost);
  printf("%g\n", h);
  cudaFree(v);
}
/* remedies_test
finds 11 error: the size overflowed int: compute it in size_t
fix 9: size_t bytes = (size_t)side * side * sizeof(double);
prints 1
*/
