// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
__global__ void total(const int* in, int* out) {
  __shared__ int part[32];
  int t = threadIdx.x;
  part[t] = in[t];
  __syncthreads();
  for (int half = 16; half > 0; half /= 2) {
    if (t < half) part[t] += part[t + half];
  }
  if (t == 0) *out = part[0];
}
int main() {
  int h[32], *d, *o, r = 0;
  for (int i = 0; i < 32; ++i) h[i] = i;
  cudaMalloc(&d, sizeof h);
  cudaMalloc(&o, sizeof r);
  cudaMemcpy(d, h, sizeof h, cudaMemcpyHostToDevice);
  total<<<1, 32>>>(d, o);
  cudaMemcpy(&r, o, sizeof r, cudaMemcpyDeviceToHost);
  printf("%d\n", r);
  cudaFree(d);
  cudaFree(o);
}
/* remedies_test
finds 9 error: put __syncwarp() at the end of the body of the loop that repeats line 9
fix 9+ __syncwarp();
prints 496
*/
