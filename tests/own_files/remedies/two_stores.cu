// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
__global__ void halo(const int* in, int* out, int n) {
  __shared__ int part[32];
  int i = threadIdx.x;
  if (i < n - 2) part[i] = in[i];
  else part[i + 2] = 7;
  __syncthreads();
  out[i] = i < n - 2 ? part[i] : 0;
}
int main() {
  int h[32], *in, *out;
  for (int i = 0; i < 32; ++i) h[i] = i;
  cudaMalloc(&in, sizeof h);
  cudaMalloc(&out, sizeof h);
  cudaMemcpy(in, h, sizeof h, cudaMemcpyHostToDevice);
  halo<<<1, 32>>>(in, out, 32);
  cudaMemcpy(h, out, sizeof h, cudaMemcpyDeviceToHost);
  printf("%d\n", h[31]);
  cudaFree(in);
  cudaFree(out);
}
/* remedies_test
finds 7 error: correct the index or its guard
fix 7: part[i] = 7;
prints 0
*/
