// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
__global__ void nearest(const float* x, float* out, int n) {
  __shared__ float near_x[64], near_y[64];
  int t = threadIdx.x, i = blockIdx.x * 64 + t;
  float best = 1e30f;
  for (int base = 0; base < n; base += 64) {
    near_x[t] = x[2 * (base + t)];
    near_y[t] = x[2 * (base + t) + 1];
    __syncthreads();
    for (int k = 0; k < 64; k++) {
      float dx = near_x[k] - x[2 * i], dy = near_y[k] - x[2 * i + 1];
      if (base + k != i) best = fminf(best, dx * dx + dy * dy);
    }
  }
  out[i] = best;
}
int main() {
  const int n = 128;
  float h[2 * n], r[n], *a, *b;
  for (int i = 0; i < 2 * n; i++) h[i] = i;
  cudaMalloc(&a, sizeof h);
  cudaMalloc(&b, sizeof r);
  cudaMemcpy(a, h, sizeof h, cudaMemcpyHostToDevice);
  nearest<<<n / 64, 64>>>(a, b, n);
  cudaMemcpy(r, b, sizeof r, cudaMemcpyDeviceToHost);
  printf("%g %g\n", r[0], r[n - 1]);
  cudaFree(a);
  cudaFree(b);
}
/* remedies_test
finds 8 error: put __syncthreads() at the end of the body of the loop that repeats lines 8 to 12
finds 8 cost: threadIdx.x
finds 9 cost: threadIdx.x
finds 12 cost: threadIdx.x
fix 14+ __syncthreads();
prints 8 8
*/
