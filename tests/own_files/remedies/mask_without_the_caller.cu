// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
__global__ void sum(const int* in, int* out) {
  int v = in[threadIdx.x];
  for (int d = 16; d > 0; d /= 2) v += __shfl_down_sync(0xffff, v, d);
  if (threadIdx.x == 0) *out = v;
}
int main() {
  int h[32], r, *a, *b;
  for (int& x : h) x = 1;
  cudaMalloc(&a, sizeof h);
  cudaMalloc(&b, sizeof r);
  cudaMemcpy(a, h, sizeof h, cudaMemcpyHostToDevice);
  sum<<<1, 32>>>(a, b);
  cudaMemcpy(&r, b, sizeof r, cudaMemcpyDeviceToHost);
  printf("%d\n", r);
  cudaFree(a);
  cudaFree(b);
}
/* remedies_test
finds 5 error: give a mask that names every lane that calls, such as 0xffffffff for a whole warp
fix 5: for (int d = 16; d > 0; d /= 2) v += __shfl_down_sync(0xffffffff, v, d);
prints 32
*/
