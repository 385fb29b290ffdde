// SPDX-License-Identifier: Apache-2.0
// The product of two matrices by one block, whose threads share the elements of C. It prints zeros.
#include <cstdio>
#include <vector>

constexpr int n = 64;

__global__ void multiply(const float* a, const float* b, float* c) {
  for (int row = threadIdx.y; row < n; row += blockDim.y)
    for (int col = threadIdx.x; col < n; col += blockDim.x) {
      float sum = 0;
      for (int k = 0; k < n; ++k) sum += a[row * n + k] * b[k * n + col];
      c[row * n + col] = sum;
    }
}

int main() {
  const std::vector<float> a(n * n, 1), b(n * n, 2);
  std::vector<float> c(n * n);
  const size_t bytes = n * n * sizeof(float);
  float *d_a, *d_b, *d_c;
  cudaMalloc(&d_a, bytes);
  cudaMalloc(&d_b, bytes);
  cudaMalloc(&d_c, bytes);
  cudaMemcpy(d_a, a.data(), bytes, cudaMemcpyHostToDevice);
  cudaMemcpy(d_b, b.data(), bytes, cudaMemcpyHostToDevice);
  cudaMemset(d_c, 0, bytes);
  multiply<<<1, dim3(64, 32)>>>(d_a, d_b, d_c);
  cudaMemcpy(c.data(), d_c, bytes, cudaMemcpyDeviceToHost);
  std::printf("first %g, last %g, expected: %d\n", c[0], c[n * n - 1], 2 * n);
  cudaFree(d_a);
  cudaFree(d_b);
  cudaFree(d_c);
}
