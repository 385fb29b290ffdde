// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
__global__ void multiply(const float* a, const float* b, float* c, int n) {
  __shared__ float of_a[16][16], of_b[16][16];
  int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * 16 + y, column = blockIdx.x * 16 + x;
  float sum = 0;
  for (int k0 = 0; k0 < n; k0 += 16) {
    of_a[y][x] = a[row * n + k0 + x];
    of_b[y][x] = b[(k0 + y) * n + column];
    for (int k = 0; k < 16; ++k) sum += of_a[y][k] * of_b[k][x];
  }
  c[row * n + column] = sum;
}
int main() {
  const int n = 32;
  static float h[n * n];
  float *a, *b, *c;
  for (float& x : h) x = 1;
  cudaMalloc(&a, sizeof h);
  cudaMalloc(&b, sizeof h);
  cudaMalloc(&c, sizeof h);
  cudaMemcpy(a, h, sizeof h, cudaMemcpyHostToDevice);
  cudaMemcpy(b, h, sizeof h, cudaMemcpyHostToDevice);
  multiply<<<dim3(2, 2), dim3(16, 16)>>>(a, b, c, n);
  cudaMemcpy(h, c, sizeof h, cudaMemcpyDeviceToHost);
  printf("%g %g\n", h[0], h[n * n - 1]);
  cudaFree(a);
  cudaFree(b);
  cudaFree(c);
}
/* remedies_test
finds 8 error: put __syncthreads() between line 9 and line 10, and, if a loop repeats them, at the end of its body
fix 9+ __syncthreads();
fix 10+ __syncthreads();
prints 32 32
*/
