// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
typedef unsigned long long word;
__global__ void largest(const int* d, int* most, int* place, word* both) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (d[i] > *most) {
    *most = d[i];
    *place = i;
  }
}
int main() {
  int h[512], place = -1, *d, *m, *p;
  word both = 0, *b;
  for (int i = 0; i < 512; i++) h[i] = i * 7919 % 1009;
  cudaMalloc(&d, sizeof h);
  cudaMalloc(&m, sizeof place);
  cudaMalloc(&p, sizeof place);
  cudaMalloc(&b, sizeof both);
  cudaMemcpy(d, h, sizeof h, cudaMemcpyHostToDevice);
  cudaMemset(m, 0, sizeof place);
  cudaMemset(b, 0, sizeof both);
  largest<<<4, 128>>>(d, m, p, b);
  cudaMemcpy(&place, p, sizeof place, cudaMemcpyDeviceToHost);
  cudaMemcpy(&both, b, sizeof both, cudaMemcpyDeviceToHost);
  printf("%d\n", both ? (int)(both & 0xffffffff) : place);
  cudaFree(d);
  cudaFree(m);
  cudaFree(p);
  cudaFree(b);
}
/* remedies_test
finds 6 error: keep them in one word of 64 bits and use atomicMax
fix 6:
fix 7: atomicMax(both, (word)d[i] << 32 | i);
fix 8:
fix 9:
fix 23:
prints 277
*/
