// SPDX-License-Identifier: Apache-2.0
// A matrix times a vector, y = A·x: the lanes of a warp have a column each, and bring x together, a piece for all.
#include <cstdio>
#include <vector>

constexpr int rows = 96, columns = 64;

__global__ void multiply(const float* a, const float* x, float* y) {
  __shared__ float piece[columns / 32][32];
  const int column = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  float sum = 0;
  for (int first = 0; first < rows; first += 32) {
    piece[warp][lane] = x[first + lane];
    __syncwarp();
    for (int i = 0; i < 32; ++i) sum += a[(first + i) * columns + column] * piece[warp][i];
  }
  y[column] = sum;
}

int main() {
  std::vector<float> a(rows * columns, 1), x(rows, 2), y(columns);
  float *d_a, *d_x, *d_y;
  cudaMalloc(&d_a, a.size() * sizeof(float));
  cudaMalloc(&d_x, x.size() * sizeof(float));
  cudaMalloc(&d_y, y.size() * sizeof(float));
  cudaMemcpy(d_a, a.data(), a.size() * sizeof(float), cudaMemcpyHostToDevice);
  cudaMemcpy(d_x, x.data(), x.size() * sizeof(float), cudaMemcpyHostToDevice);
  multiply<<<1, columns>>>(d_a, d_x, d_y);
  cudaMemcpy(y.data(), d_y, y.size() * sizeof(float), cudaMemcpyDeviceToHost);
  std::printf("y %g, expected: %g\n", y[5], 2.0 * rows);
  cudaFree(d_a);
  cudaFree(d_x);
  cudaFree(d_y);
}
