// SPDX-License-Identifier: Apache-2.0
// The sums of a matrix' columns. Each is split over the blocks of a column of the grid, which add their
// parts to the result.
#include <cstdio>
#include <vector>

constexpr int columns = 64, rows = 128, splits = 4;

__global__ void sum_columns(const float* in, float* sums) {
  const int column = threadIdx.x;
  const int first = blockIdx.y * (rows / splits);
  float part = 0;
  for (int row = first; row < first + rows / splits; ++row) part += in[row * columns + column];
  sums[column] += part;
}

int main() {
  const std::vector<float> in(rows * columns, 1);
  std::vector<float> sums(columns);
  float *d_in, *d_sums;
  cudaMalloc(&d_in, in.size() * sizeof(float));
  cudaMalloc(&d_sums, columns * sizeof(float));
  cudaMemcpy(d_in, in.data(), in.size() * sizeof(float), cudaMemcpyHostToDevice);
  cudaMemset(d_sums, 0, columns * sizeof(float));
  sum_columns<<<dim3(1, splits), columns>>>(d_in, d_sums);
  cudaMemcpy(sums.data(), d_sums, columns * sizeof(float), cudaMemcpyDeviceToHost);
  std::printf("first %g, last %g, expected: %d\n", sums[0], sums[columns - 1], rows);
  cudaFree(d_in);
  cudaFree(d_sums);
}
