// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
__global__ void dot(const int* a, const int* b, int* sum) {
  int i = threadIdx.x;
  sum[0] = sum[0] + a[i] * b[i];
}
int main() {
  int h[64], s = 0, *a, *b, *c;
  for (int& x : h) x = 3;
  cudaMalloc(&a, sizeof h);
  cudaMalloc(&b, sizeof h);
  cudaMalloc(&c, sizeof s);
  cudaMemcpy(a, h, sizeof h, cudaMemcpyHostToDevice);
  cudaMemcpy(b, h, sizeof h, cudaMemcpyHostToDevice);
  cudaMemcpy(c, &s, sizeof s, cudaMemcpyHostToDevice);
  dot<<<1, 64>>>(a, b, c);
  cudaMemcpy(&s, c, sizeof s, cudaMemcpyDeviceToHost);
  printf("%d\n", s);
  cudaFree(a);
  cudaFree(b);
  cudaFree(c);
}
/* remedies_test
finds 5 error: many threads update one word: atomicAdd(&sum[0], a[i] * b[i])
fix 5: atomicAdd(&sum[0], a[i] * b[i]);
prints 576
*/
