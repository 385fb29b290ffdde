// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
__global__ void scale(float* v, float f, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) v[i] *= f;
}
__global__ void fill(float* v, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) v[i] = i;
}
int main() {
  const int n = 1000;
  float h[n], *d;
  cudaMalloc(&d, sizeof h);
  fill<<<n / 128, 128>>>(d, n);
  scale<<<(n + 127) / 128, 128>>>(d, 2, n);
  cudaMemcpy(h, d, sizeof h, cudaMemcpyDeviceToHost);
  printf("%g\n", h[999]);
  cudaFree(d);
}
/* remedies_test
finds 5 error: the launch at line 15 wrote the rest: let its grid, guard and indices reach these elements
fix 15: fill<<<(n + 127) / 128, 128>>>(d, n);
prints 1998
*/
