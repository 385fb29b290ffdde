// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
__constant__ int n;
__global__ void scale(const float* a, float* b) {
  int i = threadIdx.x;
  if (i < n) b[i] = a[i];  // finds: uninitialised
}
int main() {
  float h[64], *d, *e;
  for (int i = 0; i < 64; ++i) h[i] = i;
  cudaMalloc(&d, sizeof h);
  cudaMalloc(&e, sizeof h);
  cudaMemcpy(d, h, sizeof h, cudaMemcpyHostToDevice);
  scale<<<1, 64>>>(d, e);
  cudaMemcpy(h, e, sizeof h, cudaMemcpyDeviceToHost);
  printf("%g\n", h[3]);
  cudaFree(d);
  cudaFree(e);
}
