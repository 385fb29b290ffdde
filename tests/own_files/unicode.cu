// SPDX-License-Identifier: Apache-2.0
// Text and names beyond ASCII – “quoted”.
#include <clocale>
#include <cstdio>
// clang-format off
#define N 32 \
  + 32
// clang-format on
const int M(2), K{3};  // Maße

__global__ void größe(float* länge, int n) {
  __shared__ float s[N];
  /* ä */ int i = threadIdx.x;
  s[i] = länge[i];
  länge[i] = s[63 - i] * 0.5f + n;
  if (i == 0) printf("Länge ✓ %d\n", n);
}

int main() {
  setlocale(LC_ALL, "");
  float* d;
  cudaMalloc(&d, (N) * sizeof(float));
  cudaMemset(d, 0, (N) * sizeof(float));
  größe<<<1, N>>>(d, M + K);
  cudaDeviceSynchronize();
  printf("„Straße“ %d\n", N);
  cudaFree(d);
}
