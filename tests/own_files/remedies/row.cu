// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
__global__ void transpose(const int* in, int* out) {
  __shared__ int tile[4][8];
  int x = threadIdx.x, y = threadIdx.y;
  tile[y][x] = in[y * 8 + x];
  __syncthreads();
  out[x * 4 + y] = tile[0][y * 8 + x] + tile[y][x];
}
int main() {
  int h[32], *in, *out;
  for (int i = 0; i < 32; ++i) h[i] = i;
  cudaMalloc(&in, sizeof h);
  cudaMalloc(&out, sizeof h);
  cudaMemcpy(in, h, sizeof h, cudaMemcpyHostToDevice);
  transpose<<<1, dim3(8, 4)>>>(in, out);
  cudaMemcpy(h, out, sizeof h, cudaMemcpyDeviceToHost);
  printf("%d\n", h[1]);
  cudaFree(in);
  cudaFree(out);
}
/* remedies_test
finds 8 warning: keep the index below 8: it reaches another row
fix 8: out[x * 4 + y] = tile[y][x] + tile[y][x];
prints 16
*/
