// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
__global__ void twice(const float *a, float *b) { b[threadIdx.x] = 2 * a[threadIdx.x]; }
int main() {
  float h[64], out[64] = {}, *d, *e;
  for (int i = 0; i < 64; ++i) h[i] = i;
  cudaMalloc(&d, sizeof h); cudaMalloc(&e, sizeof h);
  cudaMemcpy(d, h, sizeof h, cudaMemcpyHostToDevice);
  twice<<<1, 64>>>(d, e);
  cudaMemcpy(e, out, sizeof h, cudaMemcpyHostToDevice);
  printf("%g\n", out[3]);
  cudaFree(d); cudaFree(e);
}
/* remedies_test
finds 10 warning: copy the result to the host: cudaMemcpy(…, e, 256, cudaMemcpyDeviceToHost)
fix 10: cudaMemcpy(out, e, 256, cudaMemcpyDeviceToHost);
prints 6
*/
