// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
__global__ void dot(const float* x, const float* y, float* out, int n) {
  float s = 0;
  for (int i = threadIdx.x; i < n; i += 32) {
    s += x[i] * y[i];
    if (y[i] < 0) s = 0;
  }
  for (int d = 16; d > 0; d /= 2) s += __shfl_down_sync(0xffffffff, s, d);
  if (threadIdx.x == 0) *out = s;
}
int main() {
  const int n = 64;
  float x[n], y[n], *dx, *dy, *out, r;
  for (int i = 0; i < n; ++i) x[i] = y[i] = 1;
  cudaMalloc(&dx, sizeof x);
  cudaMalloc(&dy, sizeof y);
  cudaMalloc(&out, sizeof r);
  cudaMemcpy(dx, x, sizeof x, cudaMemcpyHostToDevice);
  dot<<<1, 32>>>(dx, dy, out, n);
  cudaMemcpy(&r, out, sizeof r, cudaMemcpyDeviceToHost);
  printf("%g\n", r);
  cudaFree(dx);
  cudaFree(dy);
  cudaFree(out);
}
/* remedies_test
finds 6 error: copy the data to dy with cudaMemcpy(dy, …, 256, cudaMemcpyHostToDevice) before line 20
fix 19+ cudaMemcpy(dy, y, 256, cudaMemcpyHostToDevice);
prints 64
*/
