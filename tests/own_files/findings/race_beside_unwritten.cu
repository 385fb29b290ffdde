// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
__global__ void turn(int* a) {
  __shared__ int s[64];
  s[threadIdx.x] = threadIdx.x;  // finds: race
  a[threadIdx.x] = s[63 - threadIdx.x];
}
// The race has nothing to do with this array.
__global__ void half(int* b) {
  if (threadIdx.x < 32) b[threadIdx.x] = 1;
}
int main() {
  int h[64], *a, *b;
  cudaMalloc(&a, sizeof h);
  cudaMalloc(&b, sizeof h);
  turn<<<1, 64>>>(a);
  cudaMemcpy(h, a, sizeof h, cudaMemcpyDeviceToHost);
  printf("%d\n", h[3]);
  half<<<1, 64>>>(b);
  cudaMemcpy(h, b, sizeof h, cudaMemcpyDeviceToHost);  // finds: never written
  printf("%d\n", h[3]);
  cudaFree(a);
  cudaFree(b);
}
