// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
__global__ void reverse(const int* in, int* out, int n) {
  __shared__ int tile[128];
  int t = threadIdx.x, i = blockIdx.x * 128 + t;
  if (i >= n) return;
  tile[t] = in[i];
  __syncthreads();
  int last = min(128, n - blockIdx.x * 128) - 1;
  out[i] = tile[last - t];
}
int main() {
  const int n = 200;
  int h[n], *a, *b;
  for (int i = 0; i < n; i++) h[i] = i;
  cudaMalloc(&a, sizeof h);
  cudaMalloc(&b, sizeof h);
  cudaMemcpy(a, h, sizeof h, cudaMemcpyHostToDevice);
  reverse<<<2, 128>>>(a, b, n);
  cudaMemcpy(h, b, sizeof h, cudaMemcpyDeviceToHost);
  printf("%d %d\n", h[0], h[128]);
  cudaFree(a);
  cudaFree(b);
}
/* remedies_test
finds 8 warning: do not return before a barrier, as line 6 does: put the condition around the loads and the stores
fix 6:
fix 7: if (i < n) tile[t] = in[i];
fix 10: if (i < n) out[i] = tile[last - t];
prints 127 199
*/
