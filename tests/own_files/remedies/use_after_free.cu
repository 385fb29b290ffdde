// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
__global__ void add(const float* a, const float* b, float* c) {
  int i = threadIdx.x;
  c[i] = a[i] + b[i];
}
int main() {
  float h[64], *a, *b, *c;
  for (float& x : h) x = 1;
  cudaMalloc(&a, sizeof h);
  cudaMalloc(&b, sizeof h);
  cudaMalloc(&c, sizeof h);
  cudaMemcpy(a, h, sizeof h, cudaMemcpyHostToDevice);
  cudaMemcpy(b, h, sizeof h, cudaMemcpyHostToDevice);
  cudaFree(b);
  add<<<1, 64>>>(a, b, c);
  cudaMemcpy(h, c, sizeof h, cudaMemcpyDeviceToHost);
  printf("%s\n", cudaGetErrorString(cudaGetLastError()));
  cudaFree(a);
  cudaFree(c);
}
/* remedies_test
finds 5 error: b was freed at line 15: free it after its last use
fix 15:
fix 19: cudaFree(a); cudaFree(b);
prints no error
*/
