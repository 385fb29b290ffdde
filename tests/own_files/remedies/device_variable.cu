// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <cstdlib>
__device__ float gain[4];
__device__ int calls;
__global__ void amplify(float* v) {
  v[threadIdx.x] = threadIdx.x * gain[threadIdx.x % 4];
  if (threadIdx.x == 0 && calls < 5) calls = calls + 1;
}
int main() {
  const int n = 16;
  float g[4] = {1, 2, 1, 2}, *v;
  float* h = (float*)malloc(n * sizeof(float));
  cudaMalloc(&v, n * sizeof(float));
  amplify<<<1, n>>>(v);
  cudaMemcpy(h, v, sizeof h, cudaMemcpyDeviceToHost);
  printf("%g %g\n", g[1], h[0]);
  cudaFree(v);
  free(h);
}
/* remedies_test
finds 15 warning: copy the values to it with cudaMemcpyToSymbol(gain, …, 16) before line 15
finds 16 warning: a copy counts bytes, not elements: copy n * sizeof(…), here 64 bytes
fix 14+ cudaMemcpyToSymbol(gain, g, 16);
fix 16: cudaMemcpy(h, v, 64, cudaMemcpyDeviceToHost);
prints 2 0
*/
