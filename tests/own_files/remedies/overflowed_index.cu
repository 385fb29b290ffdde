// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
__global__ void mark(const char* in, char* out, int pitch) {
  int row = blockIdx.x;
  if (threadIdx.x == 0) out[row * pitch] = in[row];
}
int main() {
  const int rows = 3, pitch = 1 << 30;
  char *in, *out, h[rows] = {1, 2, 3};
  cudaMalloc(&in, sizeof h);
  cudaMalloc(&out, (size_t)rows * pitch);
  cudaMemcpy(in, h, sizeof h, cudaMemcpyHostToDevice);
  mark<<<rows, 32>>>(in, out, pitch);
  cudaMemcpy(h, out, 1, cudaMemcpyDeviceToHost);
  printf("%d\n", h[0]);
  cudaFree(in);
  cudaFree(out);
}
/* remedies_test
finds 5 error: compute the index in size_t: convert a factor first
fix 5: if (threadIdx.x == 0) out[(size_t)row * pitch] = in[row];
prints 1
*/
