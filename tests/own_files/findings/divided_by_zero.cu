// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
__global__ void ratio(const int* a, int* b) {
  int i = threadIdx.x;
  int q = a[i];
  b[i] = 100 / q;  // finds: stopped
}
int main() {
  int h[64], *d, *e;
  for (int i = 0; i < 64; ++i) h[i] = i;
  cudaMalloc(&d, sizeof h);
  cudaMalloc(&e, sizeof h);
  cudaMemcpy(d, h, sizeof h, cudaMemcpyHostToDevice);
  ratio<<<1, 64>>>(d, e);
  cudaMemcpy(h, e, sizeof h, cudaMemcpyDeviceToHost);
  printf("%d\n", h[3]);
  cudaFree(d);
  cudaFree(e);
}
