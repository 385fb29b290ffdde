// SPDX-License-Identifier: Apache-2.0
// Adds two matrices. Its result is right, and it moves eight times the bytes that it needs.
#include <cstdio>
#include <vector>

constexpr int size = 256;  // rows and columns

__global__ void add(const float* a, const float* b, float* c) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  const int column = blockIdx.y * blockDim.y + threadIdx.y;
  const int at = row * size + column;
  c[at] = a[at] + b[at];
}

int main() {
  const int n = size * size;
  const std::vector<float> a(n, 1), b(n, 2);
  std::vector<float> c(n);
  float *d_a, *d_b, *d_c;
  cudaMalloc(&d_a, n * sizeof(float));
  cudaMalloc(&d_b, n * sizeof(float));
  cudaMalloc(&d_c, n * sizeof(float));
  cudaMemcpy(d_a, a.data(), n * sizeof(float), cudaMemcpyHostToDevice);
  cudaMemcpy(d_b, b.data(), n * sizeof(float), cudaMemcpyHostToDevice);
  add<<<dim3(size / 32, size / 8), dim3(32, 8)>>>(d_a, d_b, d_c);
  cudaMemcpy(c.data(), d_c, n * sizeof(float), cudaMemcpyDeviceToHost);
  int right = 0;
  for (const float element : c) right += element == 3;
  std::printf("right elements: %d, expected: %d%s\n", right, n,
              right == n ? "" : ": not done, each must be 3");
  cudaFree(d_a);
  cudaFree(d_b);
  cudaFree(d_c);
  return right == n ? 0 : 1;
}
