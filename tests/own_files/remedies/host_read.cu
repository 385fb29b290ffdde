// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
__global__ void total(const float* v, float* sum, int n) {
  float s = 0;
  for (int i = 0; i < n; ++i) s += v[i];
  *sum = s;
}
int main() {
  float h[8] = {1, 2, 3}, *v, *sum, r;
  cudaMalloc(&v, sizeof h);
  cudaMalloc(&sum, sizeof r);
  cudaMemcpy(v, h, sizeof h, cudaMemcpyHostToDevice);
  total<<<1, 1>>>(v, sum, 8);
  cudaDeviceSynchronize();
  r = sum[0];

  float mean = r / 8;
  printf("%g\n", mean);
  cudaFree(v);
  cudaFree(sum);
}
/* remedies_test
finds 15 error: copy it to the host with cudaMemcpy, and read the copy
fix 15: cudaMemcpy(&r, sum, sizeof r, cudaMemcpyDeviceToHost);
prints 0.75
*/
