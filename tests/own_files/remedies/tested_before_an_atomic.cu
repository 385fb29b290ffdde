// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
__global__ void largest(const int* d, int* most) {
  int v = d[blockIdx.x * blockDim.x + threadIdx.x];
  if (v > *most)
    atomicMax(most, v);
}
int main() {
  int h[512], most = 0, *d, *m;
  for (int i = 0; i < 512; i++) h[i] = i * 7919 % 1009;
  cudaMalloc(&d, sizeof h);
  cudaMalloc(&m, sizeof most);
  cudaMemcpy(d, h, sizeof h, cudaMemcpyHostToDevice);
  cudaMemcpy(m, &most, sizeof most, cudaMemcpyHostToDevice);
  largest<<<4, 128>>>(d, m);
  cudaMemcpy(&most, m, sizeof most, cudaMemcpyDeviceToHost);
  printf("%d\n", most);
  cudaFree(d);
  cudaFree(m);
}
/* remedies_test
finds 5 warning: the atomic of line 6 needs no test before it: leave the read of line 5 out
fix 5:
prints 1006
*/
