// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
__global__ void count(const int* d, int n, int* out) {
  __shared__ int bin[16];
  if (threadIdx.x < 16) bin[threadIdx.x] = 0;
  __syncthreads();
  for (int i = threadIdx.x; i < n; i += blockDim.x) bin[d[i] & 15]++;
  __syncthreads();
  if (threadIdx.x < 16) out[threadIdx.x] = bin[threadIdx.x];
}
int main() {
  const int n = 512;
  int h[n], bins[16], *d, *b;
  for (int i = 0; i < n; i++) h[i] = i * i;
  cudaMalloc(&d, sizeof h);
  cudaMalloc(&b, sizeof bins);
  cudaMemcpy(d, h, sizeof h, cudaMemcpyHostToDevice);
  count<<<1, 128>>>(d, n, b);
  cudaMemcpy(bins, b, sizeof bins, cudaMemcpyDeviceToHost);
  printf("%d %d %d\n", bins[0], bins[1], bins[4]);
  cudaFree(d);
  cudaFree(b);
}
/* remedies_test
finds 7 error: atomicAdd(&bin[d[i] & 15], 1)
fix 7: for (int i = threadIdx.x; i < n; i += blockDim.x) atomicAdd(&bin[d[i] & 15], 1);
prints 128 128 128
*/
