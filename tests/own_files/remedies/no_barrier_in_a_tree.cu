// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
__global__ void sum(const float *in, float *out) {
  __shared__ float s[128];
  int t = threadIdx.x;
  s[t] = in[t];
  for (int step = 64; step > 0; step /= 2) {
    if (t < step) s[t] += s[t + step];
  }
  if (t == 0) out[0] = s[0];
}
int main() {
  float h[128], *a, *b;
  for (int i = 0; i < 128; ++i) h[i] = i;
  cudaMalloc(&a, sizeof h); cudaMalloc(&b, 4);
  cudaMemcpy(a, h, sizeof h, cudaMemcpyHostToDevice);
  sum<<<1, 128>>>(a, b);
  cudaMemcpy(h, b, 4, cudaMemcpyDeviceToHost);
  printf("%g\n", h[0]);
  cudaFree(a); cudaFree(b);
}
/* remedies_test
finds 6 error: put __syncthreads() before line 8, at the beginning of the body of the loop
fix 7+ __syncthreads();
prints 8128
*/
