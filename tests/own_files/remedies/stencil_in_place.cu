// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
__global__ void smooth(float* x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i > 0 && i < n - 1) x[i] = (x[i - 1] + x[i] + x[i + 1]) / 3;
}
int main() {
  const int n = 256;
  float h[n], *d, *e;
  for (int i = 0; i < n; i++) h[i] = i % 2;
  cudaMalloc(&d, sizeof h);
  cudaMalloc(&e, sizeof h);
  cudaMemcpy(d, h, sizeof h, cudaMemcpyHostToDevice);
  cudaMemcpy(e, h, sizeof h, cudaMemcpyHostToDevice);
  smooth<<<n / 64, 64>>>(d, n);
  cudaMemcpy(h, d, sizeof h, cudaMemcpyDeviceToHost);
  printf("%g\n", 3 * h[5]);
  cudaFree(d);
  cudaFree(e);
}
/* remedies_test
finds 5 error: read from one array and write to another
fix 3: __global__ void smooth(const float* x, float* y, int n) {
fix 5: if (i > 0 && i < n - 1) y[i] = (x[i - 1] + x[i] + x[i + 1]) / 3;
fix 15: smooth<<<n / 64, 64>>>(d, e, n);
fix 16: cudaMemcpy(h, e, sizeof h, cudaMemcpyDeviceToHost);
prints 1
*/
