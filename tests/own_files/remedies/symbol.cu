// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
__device__ float scale[4];
__device__ int hits;
__global__ void apply(float* v) {
  v[threadIdx.x] *= scale[threadIdx.x];
  atomicAdd(&hits, 1);
}
__global__ void count(int* c) { atomicAdd(c, 1); }
int main() {
  float f[4] = {1, 2, 3, 4}, *d;
  int n = 0;
  cudaMalloc(&d, sizeof f);
  cudaMemcpy(d, f, sizeof f, cudaMemcpyHostToDevice);
  cudaMemcpy(scale, f, sizeof f, cudaMemcpyHostToDevice);
  apply<<<1, 4>>>(d);
  count<<<1, 4>>>(&hits);
  cudaMemcpy(f, d, sizeof f, cudaMemcpyDeviceToHost);
  cudaMemcpy(&n, &hits, sizeof n, cudaMemcpyDeviceToHost);
  printf("%g %d\n", f[3], n);
  cudaFree(d);
}
/* remedies_test
finds 15 error: use cudaMemcpyToSymbol(scale, …)
finds 17 error: pass the address that cudaGetSymbolAddress gives
finds 19 error: use cudaMemcpyFromSymbol(…, hits, …)
fix 15: cudaMemcpyToSymbol(scale, f, sizeof f);
fix 17: int *address; cudaGetSymbolAddress((void **)&address, hits); count<<<1, 4>>>(address);
fix 19: cudaMemcpyFromSymbol(&n, hits, sizeof n);
prints 16 8
*/
