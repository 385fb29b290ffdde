// SPDX-License-Identifier: Apache-2.0
// Blocks that stay: each takes tile after tile, by a counter, until none is left. The squares are right, the
// fourth powers are not.
#include <cstdio>
#include <vector>

constexpr int threads = 64, tiles = 20;

__device__ int next_tile = 0;

__global__ void square(const float* in, float* out) {
  __shared__ int tile;
  while (true) {
    if (threadIdx.x == 0) tile = atomicAdd(&next_tile, 1);
    __syncthreads();
    if (tile >= tiles) return;
    const int i = tile * threads + threadIdx.x;
    out[i] = in[i] * in[i];
    __syncthreads();
  }
}

int main() {
  const int n = tiles * threads;
  const size_t bytes = n * sizeof(float);
  const std::vector<float> in(n, 3);
  std::vector<float> squares(n), fourths(n);
  float *d_in, *d_squares, *d_fourths;
  cudaMalloc(&d_in, bytes);
  cudaMalloc(&d_squares, bytes);
  cudaMalloc(&d_fourths, bytes);
  cudaMemcpy(d_in, in.data(), bytes, cudaMemcpyHostToDevice);
  square<<<4, threads>>>(d_in, d_squares);
  square<<<4, threads>>>(d_squares, d_fourths);
  cudaMemcpy(squares.data(), d_squares, bytes, cudaMemcpyDeviceToHost);
  cudaMemcpy(fourths.data(), d_fourths, bytes, cudaMemcpyDeviceToHost);
  std::printf("square %g, fourth power %g, expected: 9 and 81\n", squares[n - 1], fourths[n - 1]);
  cudaFree(d_in);
  cudaFree(d_squares);
  cudaFree(d_fourths);
}
