// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
__global__ void turn(const int* in, int* out) {
  __shared__ int tile[64], weight[64];
  int t = threadIdx.x;
  tile[t] = in[t];
  weight[t] = t % 2;
  out[t] = tile[63 - t] * 2 + weight[63 - t];
}
int main() {
  int h[64], *a, *b;
  for (int i = 0; i < 64; ++i) h[i] = i;
  cudaMalloc(&a, sizeof h);
  cudaMalloc(&b, sizeof h);
  cudaMemcpy(a, h, sizeof h, cudaMemcpyHostToDevice);
  turn<<<1, 64>>>(a, b);
  cudaMemcpy(h, b, sizeof h, cudaMemcpyDeviceToHost);
  printf("%d %d\n", h[0], h[63]);
  cudaFree(a);
  cudaFree(b);
}
/* remedies_test
finds 6 error: put __syncthreads() between line 7 and line 8
fix 7+ __syncthreads();
prints 127 0
*/
