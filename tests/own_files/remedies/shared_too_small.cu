// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
__global__ void reverse(int* d) {
  extern __shared__ int s[];
  s[threadIdx.x] = d[threadIdx.x];
  __syncthreads();
  d[threadIdx.x] = s[blockDim.x - 1 - threadIdx.x];
}
int main() {
  const int n = 64;
  int h[n], *d;
  for (int i = 0; i < n; i++) h[i] = i;
  cudaMalloc(&d, sizeof h);
  cudaMemcpy(d, h, sizeof h, cudaMemcpyHostToDevice);
  reverse<<<1, n, n>>>(d);
  cudaMemcpy(h, d, sizeof h, cudaMemcpyDeviceToHost);
  printf("%d\n", h[0]);
  cudaFree(d);
}
/* remedies_test
finds 5 error: (sizes of cudaMalloc and of dynamic shared memory are bytes)
fix 15: reverse<<<1, n, n * sizeof(int)>>>(d);
prints 63
*/
