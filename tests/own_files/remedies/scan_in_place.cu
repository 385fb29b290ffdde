// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
__global__ void scan(const int* in, int* out) {
  __shared__ int x[128];
  int t = threadIdx.x;
  x[t] = in[t];
  __syncthreads();
  for (int d = 1; d < 128; d *= 2) {
    if (t >= d) x[t] += x[t - d];
    __syncthreads();
  }
  out[t] = x[t];
}
int main() {
  int h[128], *a, *b;
  for (int& x : h) x = 1;
  cudaMalloc(&a, sizeof h);
  cudaMalloc(&b, sizeof h);
  cudaMemcpy(a, h, sizeof h, cudaMemcpyHostToDevice);
  scan<<<1, 128>>>(a, b);
  cudaMemcpy(h, b, sizeof h, cudaMemcpyDeviceToHost);
  printf("%d %d\n", h[9], h[127]);
  cudaFree(a);
  cudaFree(b);
}
/* remedies_test
finds 9 error: line 9: read into a variable, call __syncthreads(), write, and call __syncthreads() again
fix 9: int own = t >= d ? x[t - d] : 0;
fix 9+ __syncthreads();
fix 9+ x[t] += own;
prints 10 128
*/
