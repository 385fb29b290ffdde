// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
__global__ void look(const int *in, int *out) {
  __shared__ int table[32][32];
  int t = threadIdx.x;
  for (int r = 0; r < 32; ++r) table[r][t] = r * t;
  __syncthreads();
  int sum = 0;
  for (int k = 0; k < 16; ++k) sum += table[in[k * 32 + t] % 32][0];
  out[t] = sum;
}
int main() {
  int h[512], *d, *e;
  for (int i = 0; i < 512; ++i) h[i] = i * i * i % 1009;
  cudaMalloc(&d, sizeof h); cudaMalloc(&e, sizeof h);
  cudaMemcpy(d, h, sizeof h, cudaMemcpyHostToDevice);
  look<<<1, 32>>>(d, e);
  cudaMemcpy(h, e, 32 * sizeof(int), cudaMemcpyDeviceToHost);
  printf("%d\n", h[3]);
  cudaFree(d); cudaFree(e);
}
/* remedies_test
finds 9 cost: the lanes' indices of table have no stride: if data gives them, padding does not help
prints 0
*/
