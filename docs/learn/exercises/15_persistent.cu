// SPDX-License-Identifier: Apache-2.0
// Blocks that stay: each takes tile after tile, by a counter, until none is left. The kernel runs for two
// arrays; the second one's result is not what it should be.
#include <cstdio>
#include <vector>

constexpr int threads = 64, tiles = 20;

__device__ int next_tile;

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
  const int n = tiles * threads, zero = 0;
  const size_t bytes = n * sizeof(float);
  std::vector<float> in(n), out(n);
  for (const float value : {2.0f, 3.0f}) {
    float *d_in, *d_out;
    cudaMalloc(&d_in, bytes);
    cudaMalloc(&d_out, bytes);
    in.assign(n, value);
    cudaMemcpy(d_in, in.data(), bytes, cudaMemcpyHostToDevice);
    if (value == 2) cudaMemcpyToSymbol(next_tile, &zero, sizeof zero);
    square<<<4, threads>>>(d_in, d_out);
    cudaMemcpy(out.data(), d_out, bytes, cudaMemcpyDeviceToHost);
    std::printf("first %g, last %g, expected: %g\n", out[0], out[n - 1], value * value);
    cudaFree(d_in);
    cudaFree(d_out);
  }
}
