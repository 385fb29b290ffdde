// SPDX-License-Identifier: Apache-2.0
// Two threads read what others write, and no barrier stands between.
#include <cstdio>

__global__ void reverse(int* a) {
  __shared__ int tile[64];
  const int i = threadIdx.x;
  tile[i] = a[i];  // finds: race
  a[i] = tile[63 - i];
}

int main() {
  int h[64] = {}, *a;
  cudaMalloc(&a, sizeof h);
  cudaMemcpy(a, h, sizeof h, cudaMemcpyHostToDevice);
  reverse<<<1, 64>>>(a);
  cudaMemcpy(h, a, sizeof h, cudaMemcpyDeviceToHost);
  cudaFree(a);
}
