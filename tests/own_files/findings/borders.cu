// SPDX-License-Identifier: Apache-2.0
// Two arrays change places, and nobody writes the borders of the second: the second launch reads them.
#include <utility>
#define N 64
__global__ void step(const float* a, float* b) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  if (x > 0 && x < N - 1) b[x] = 0.5f * (a[x - 1] + a[x + 1]);  // finds: uninitialised
}
int main() {
  float h[N] = {1}, *a, *b;
  cudaMalloc(&a, sizeof h);
  cudaMalloc(&b, sizeof h);
  cudaMemcpy(a, h, sizeof h, cudaMemcpyHostToDevice);
  for (int i = 0; i < 10; i++) {
    step<<<2, 32>>>(a, b);
    std::swap(a, b);
  }
  cudaMemcpy(h, a, sizeof h, cudaMemcpyDeviceToHost);
  cudaFree(a);
  cudaFree(b);
}
