// SPDX-License-Identifier: Apache-2.0
// The sum of each row of a matrix, a row per thread. It prints the right sums.
#include <cstdio>
#include <vector>

__global__ void sum_rows(const float* a, float* sums, int rows, int columns) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row > rows) return;
  float sum = 0;
  for (int column = 0; column < columns; ++column) sum += a[row * columns + column];
  sums[row] = sum;
}

int main() {
  const int rows = 200, columns = 50, threads = 64;
  const std::vector<float> a(rows * columns, 1);
  std::vector<float> sums(rows);
  float *d_a, *d_sums;
  cudaMalloc(&d_a, a.size() * sizeof(float));
  cudaMalloc(&d_sums, sums.size() * sizeof(float));
  cudaMemcpy(d_a, a.data(), a.size() * sizeof(float), cudaMemcpyHostToDevice);
  sum_rows<<<(rows + threads - 1) / threads, threads>>>(d_a, d_sums, rows, columns);
  cudaMemcpy(sums.data(), d_sums, sums.size() * sizeof(float), cudaMemcpyDeviceToHost);
  int right = 0;
  for (const float sum : sums) right += sum == columns;
  std::printf("right sums: %d, expected: %d%s\n", right, rows, right == rows ? "" : ": not done");
  cudaFree(d_a);
  cudaFree(d_sums);
  return right == rows ? 0 : 1;
}
