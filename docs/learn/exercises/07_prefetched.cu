// SPDX-License-Identifier: Apache-2.0
// Each block sums some runs of numbers, and fetches its next number before it adds the present one.
// It prints the right sums.
#include <cstdio>
#include <vector>

constexpr int threads = 64, steps = 8;

__global__ void sum_columns(const float* in, float* sums) {
  const int column = blockIdx.x * threads + threadIdx.x;
  const int stride = gridDim.x * threads;
  float sum = 0;
  float next = in[column];
  for (int step = 0; step < steps; ++step) {
    const float now = next;
    next = in[(step + 1) * stride + column];
    sum += now * now;
  }
  sums[column] = sum;
}

int main() {
  const int blocks = 2, columns = blocks * threads;
  const std::vector<float> in(steps * columns, 2);
  std::vector<float> sums(columns);
  float *d_in, *d_sums;
  cudaMalloc(&d_in, in.size() * sizeof(float));
  cudaMalloc(&d_sums, columns * sizeof(float));
  cudaMemcpy(d_in, in.data(), in.size() * sizeof(float), cudaMemcpyHostToDevice);
  sum_columns<<<blocks, threads>>>(d_in, d_sums);
  cudaMemcpy(sums.data(), d_sums, columns * sizeof(float), cudaMemcpyDeviceToHost);
  std::printf("first %g, last %g, expected: %d\n", sums[0], sums[columns - 1], 4 * steps);
  cudaFree(d_in);
  cudaFree(d_sums);
}
