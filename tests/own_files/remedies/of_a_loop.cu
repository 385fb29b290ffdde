// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
__global__ void fill(int* v, int first) { v[threadIdx.x] = first + threadIdx.x; }
int main() {
  int *part[4], h[25];
  for (int i = 0; i < 4; ++i) cudaMalloc(&part[i], sizeof h);
  for (int i = 0; i < 4; ++i) fill<<<1, 32>>>(part[i], i);
  for (int i = 0; i < 4; ++i) {
    cudaMemcpy(h, part[i], sizeof h, cudaMemcpyDeviceToHost);
    cudaFree(part[i]);
  }
  printf("%d\n", h[24]);
}
/* remedies_test
finds 3 error: correct the index or its guard
fix 3: __global__ void fill(int* v, int first) { if (threadIdx.x < 25) v[threadIdx.x] = first + threadIdx.x; }
prints 27
*/
