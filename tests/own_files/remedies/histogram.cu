// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
__global__ void count(const int* a, int* bins, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) bins[a[i] % 4]++;
}
int main() {
  const int n = 256;
  int h[n], bins[4], *a, *b;
  for (int i = 0; i < n; i++) h[i] = i;
  cudaMalloc(&a, sizeof h);
  cudaMalloc(&b, sizeof bins);
  cudaMemcpy(a, h, sizeof h, cudaMemcpyHostToDevice);
  cudaMemset(b, 0, sizeof bins);
  count<<<4, n / 4>>>(a, b, n);
  cudaMemcpy(bins, b, sizeof bins, cudaMemcpyDeviceToHost);
  printf("%d %d %d %d\n", bins[0], bins[1], bins[2], bins[3]);
  cudaFree(a);
  cudaFree(b);
}
/* remedies_test
finds 5 error: the threads of all blocks update one word: atomicAdd(&bins[a[i] % 4], 1)
fix 5: if (i < n) atomicAdd(&bins[a[i] % 4], 1);
prints 64 64 64 64
*/
