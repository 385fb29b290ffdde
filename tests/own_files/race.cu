// SPDX-License-Identifier: Apache-2.0
// A block's sum without the barrier that it needs.
#include <cstdio>

const int N = 64;

__global__ void sum(const int* in, int* out) {
  __shared__ int part[N];
  const int i = threadIdx.x;
  part[i] = in[i];
  if (i < N / 2) part[i] += part[i + N / 2];
  if (i == 0) *out = part[0];
}

int main() {
  int *in, *out, h[N], s = 0;
  for (int i = 0; i < N; ++i) h[i] = i;
  cudaMalloc(&in, sizeof h);
  cudaMalloc(&out, sizeof s);
  cudaMemcpy(in, h, sizeof h, cudaMemcpyHostToDevice);
  sum<<<1, N>>>(in, out);
  cudaMemcpy(&s, out, sizeof s, cudaMemcpyDeviceToHost);
  cudaFree(in);
  cudaFree(out);
  printf("N = %d\n", N);
  return 3;
}
