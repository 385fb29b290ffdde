// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
__device__ int state, total;
__global__ void count() {
  if (threadIdx.x == 0) {
    while (atomicCAS(&state, 0, 1) != 0) {
    }
    total = total + 1;
    atomicExch(&state, 0);
  }
}
int main() {
  int h = 0;
  count<<<64, 32>>>();
  cudaMemcpyFromSymbol(&h, total, sizeof h);
  printf("%d\n", h);
}
/* remedies_test
finds 8 error: __threadfence() after the atomic that takes it (line 6), and before the one that frees it (line 9)
fix 7+ __threadfence();
fix 8+ __threadfence();
prints 64
*/
