// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
__global__ void histogram(const unsigned char* text, int* bins, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(&bins[text[i] % 8], 1);
}
int main() {
  const int n = 200;
  unsigned char h[n], *text;
  int b[8], *bins;
  for (int i = 0; i < n; ++i) h[i] = i;
  cudaMalloc(&text, n);
  cudaMalloc(&bins, sizeof b);
  cudaMemcpy(text, h, n, cudaMemcpyHostToDevice);
  histogram<<<4, 64>>>(text, bins, n);
  cudaMemcpy(b, bins, sizeof b, cudaMemcpyDeviceToHost);
  printf("%d\n", b[7]);
  cudaFree(text);
  cudaFree(bins);
}
/* remedies_test
finds 5 error: clear it with cudaMemset(bins, 0, 32) before line 15
fix 14+ cudaMemset(bins, 0, 32);
prints 25
*/
