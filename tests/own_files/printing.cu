// SPDX-License-Identifier: Apache-2.0
// The lanes of a warp print each line together, before and after a barrier, in loops and in branches.
#include <cstdio>

__global__ void letters() {
  const int i = threadIdx.x;
  printf("a%d ", i);
  if (i == 1) printf("\n");
  printf("b%d ", i);
  if (i == 3) printf("\n");
  for (int k = 0; k < i; ++k) printf("%d.%d ", i, k);
  if (i % 2 == 0) printf("even ");
  else printf("odd ");
  if (i == 3) printf("\n");
}

__global__ void warps() {
  const int i = threadIdx.x;
  if (i % 32 == 0) printf("c%d ", i);
  __syncthreads();
  if (i % 32 == 0) printf("d%d ", i);
  if (i == 63) printf("\n");
}

int main() {
  letters<<<1, 4>>>();
  warps<<<2, 64>>>();
  cudaDeviceSynchronize();
}
