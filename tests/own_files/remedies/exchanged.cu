// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
__global__ void square(const float* v, float* result, int n) {
  int i = threadIdx.x;
  if (i < n) result[i] = v[i] * v[i];
}
int main() {
  const int n = 20;
  float h[n], *v, *result;
  for (int i = 0; i < n; ++i) h[i] = i;
  cudaMalloc(&v, sizeof h);
  cudaMalloc(&result, sizeof h);
  cudaMemcpy(v, h, sizeof h, cudaMemcpyHostToDevice);
  square<<<1, 32>>>(result, v, n);
  cudaMemcpy(h, result, sizeof h, cudaMemcpyDeviceToHost);
  printf("%g\n", h[n - 1]);
  cudaFree(v);
  cudaFree(result);
}
/* remedies_test
finds 5 error: exchange result and v in the call, if v is the input
fix 14: square<<<1, 32>>>(v, result, n);
prints 361
*/
