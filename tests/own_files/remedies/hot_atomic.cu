// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
__global__ void count(const int* a, int* c, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  atomicAdd(c, a[i]);
}
int main() {
  const int n = 1024;
  static int h[n];
  int *a, *c, r;
  for (int& x : h) x = 1;
  cudaMalloc(&a, sizeof h);
  cudaMalloc(&c, sizeof r);
  cudaMemcpy(a, h, sizeof h, cudaMemcpyHostToDevice);
  cudaMemset(c, 0, sizeof r);
  count<<<n / 256, 256>>>(a, c, n);
  cudaMemcpy(&r, c, sizeof r, cudaMemcpyDeviceToHost);
  printf("%d\n", r);
  cudaFree(a);
  cudaFree(c);
}
/* remedies_test
finds 5 cost: add up in the warp (shuffles, __reduce_add_sync) or in the block first
fix 5: int v = __reduce_add_sync(0xffffffff, a[i]);
fix 5+ if (threadIdx.x % 32 == 0) atomicAdd(c, v);
prints 1024
*/
