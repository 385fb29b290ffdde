// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
__global__ void rows(const float *in, float *out, int n) {
  __shared__ float s[64];
  int t = threadIdx.x;
  float x = 0;
  s[t] = in[t];
  for (int r = 0; r < n; ++r) {
    x = s[63 - t];
    __syncthreads();
    s[t] = x + 1;
  }
  out[t] = x;
}
int main() {
  const int n = 4;
  float h[64], *a, *b;
  for (int i = 0; i < 64; ++i) h[i] = i;
  cudaMalloc(&a, sizeof h); cudaMalloc(&b, sizeof h);
  cudaMemcpy(a, h, sizeof h, cudaMemcpyHostToDevice);
  rows<<<1, 64>>>(a, b, n);
  cudaMemcpy(h, b, sizeof h, cudaMemcpyDeviceToHost);
  printf("%g %g\n", h[0], h[63]);
  cudaFree(a); cudaFree(b);
}
/* remedies_test
finds 7 error: put __syncthreads() before line 9, at the beginning of the body of the loop
fix 8+ __syncthreads();
prints 3 66
*/
