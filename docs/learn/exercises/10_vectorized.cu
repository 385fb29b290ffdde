// SPDX-License-Identifier: Apache-2.0
// Scales the rows of a matrix, 16 bytes at a time. The first number of each row is its factor.
#include <cstdio>
#include <vector>

constexpr int columns = 64, stride = columns + 4;  // a row: its factor, and then the numbers

__global__ void scale(const float* in, float* out) {
  const float* row = in + blockIdx.x * stride;
  const float factor = row[0];
  const float4 four = reinterpret_cast<const float4*>(row + 1)[threadIdx.x];
  reinterpret_cast<float4*>(out + blockIdx.x * columns)[threadIdx.x] =
      make_float4(factor * four.x, factor * four.y, factor * four.z, factor * four.w);
}

int main() {
  const int rows = 8;
  std::vector<float> in(rows * stride, 3), out(rows * columns);
  for (int row = 0; row < rows; ++row) in[row * stride] = 2;
  float *d_in, *d_out;
  cudaMalloc(&d_in, in.size() * sizeof(float));
  cudaMalloc(&d_out, out.size() * sizeof(float));
  cudaMemcpy(d_in, in.data(), in.size() * sizeof(float), cudaMemcpyHostToDevice);
  scale<<<rows, columns / 4>>>(d_in, d_out);
  cudaMemcpy(out.data(), d_out, out.size() * sizeof(float), cudaMemcpyDeviceToHost);
  std::printf("first %g, last %g, expected: 6\n", out[0], out.back());
  cudaFree(d_in);
  cudaFree(d_out);
}
