// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
__global__ void total(const float* in, float* out) {
  __shared__ float part[64];
  int t = threadIdx.x;
  part[t] = in[t];
  __syncthreads();
  if (t < 32) {
    volatile float* v = part;
    v[t] += v[t + 32];
    v[t] += v[t + 16];
    v[t] += v[t + 8];
    v[t] += v[t + 4];
    v[t] += v[t + 2];
    v[t] += v[t + 1];
  }
  if (t == 0) *out = part[0];
}
int main() {
  float h[64], *d, *o, r = 0;
  for (float& x : h) x = 2;
  cudaMalloc(&d, sizeof h);
  cudaMalloc(&o, sizeof r);
  cudaMemcpy(d, h, sizeof h, cudaMemcpyHostToDevice);
  total<<<1, 64>>>(d, o);
  cudaMemcpy(&r, o, sizeof r, cudaMemcpyDeviceToHost);
  printf("%g\n", r);
  cudaFree(d);
  cudaFree(o);
}
/* remedies_test
finds 11 error: lines 10 to 15: read into a variable, call __syncwarp(), write, and call __syncwarp() again
fix 10: float s = v[t + 32]; __syncwarp(); v[t] += s; __syncwarp();
fix 11: s = v[t + 16]; __syncwarp(); v[t] += s; __syncwarp();
fix 12: s = v[t + 8]; __syncwarp(); v[t] += s; __syncwarp();
fix 13: s = v[t + 4]; __syncwarp(); v[t] += s; __syncwarp();
fix 14: s = v[t + 2]; __syncwarp(); v[t] += s; __syncwarp();
fix 15: s = v[t + 1]; __syncwarp(); v[t] += s; __syncwarp();
prints 128
*/
