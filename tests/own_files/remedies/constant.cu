// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
__constant__ int weight[3];
__constant__ int offset;
__global__ void weigh(const int* v, int* out) {
  int i = threadIdx.x;
  out[i] = weight[i % 3] * v[i] + offset;
}
int main() {
  int h[30], w[3] = {1, 2, 3}, b = 7, *v, *out;
  for (int& x : h) x = 1;
  cudaMalloc(&v, sizeof h);
  cudaMalloc(&out, sizeof h);
  cudaMemcpy(v, h, sizeof h, cudaMemcpyHostToDevice);
  cudaMemcpyToSymbol(weight, w, 3);
  weigh<<<1, 30>>>(v, out);
  cudaMemcpy(h, out, sizeof h, cudaMemcpyDeviceToHost);
  printf("%d %d\n", h[2], b);
  cudaFree(v);
  cudaFree(out);
}
/* remedies_test
finds 7 warning: cudaMemcpyToSymbol at line 15 sets 3 of 12 bytes of weight: it counts bytes
finds 7 warning: copy the values to offset with cudaMemcpyToSymbol(offset, …, 4) before line 16
fix 15: cudaMemcpyToSymbol(weight, w, 3 * sizeof(int)); cudaMemcpyToSymbol(offset, &b, 4);
prints 10 7
*/
