// SPDX-License-Identifier: Apache-2.0
// The product of two matrices by tiles in shared memory. Its result is sometimes right.
#include <cstdio>
#include <vector>

constexpr int n = 64, tile = 16;

__global__ void multiply(const float* a, const float* b, float* c) {
  __shared__ float of_a[tile][tile], of_b[tile][tile];
  const int x = threadIdx.x, y = threadIdx.y;
  const int row = blockIdx.y * tile + y, column = blockIdx.x * tile + x;
  float sum = 0;
  for (int first = 0; first < n; first += tile) {
    of_a[y][x] = a[row * n + first + x];
    of_b[y][x] = b[(first + y) * n + column];
    __syncthreads();
    for (int k = 0; k < tile; ++k) sum += of_a[y][k] * of_b[k][x];
  }
  c[row * n + column] = sum;
}

int main() {
  const size_t bytes = n * n * sizeof(float);
  std::vector<float> a(n * n), b(n * n, 1), c(n * n);
  for (int i = 0; i < n * n; ++i) a[i] = i % n;
  float *d_a, *d_b, *d_c;
  cudaMalloc(&d_a, bytes);
  cudaMalloc(&d_b, bytes);
  cudaMalloc(&d_c, bytes);
  cudaMemcpy(d_a, a.data(), bytes, cudaMemcpyHostToDevice);
  cudaMemcpy(d_b, b.data(), bytes, cudaMemcpyHostToDevice);
  multiply<<<dim3(n / tile, n / tile), dim3(tile, tile)>>>(d_a, d_b, d_c);
  cudaMemcpy(c.data(), d_c, bytes, cudaMemcpyDeviceToHost);
  std::printf("first %g, last %g, expected: %d\n", c[0], c[n * n - 1], n * (n - 1) / 2);
  cudaFree(d_a);
  cudaFree(d_b);
  cudaFree(d_c);
}
