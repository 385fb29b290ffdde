// SPDX-License-Identifier: Apache-2.0
// A transpose whose writes are far apart, and one through a tile whose columns share a bank.
#include <cstdio>

const int N = 64;

__global__ void naive(const float* in, float* out) {
  const int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
  out[x * N + y] = in[y * N + x];
}

__global__ void tiled(const float* in, float* out) {
  __shared__ float tile[32][32];
  const int x = blockIdx.x * 32, y = blockIdx.y * 32;
  tile[threadIdx.y][threadIdx.x] = in[(y + threadIdx.y) * N + x + threadIdx.x];
  __syncthreads();
  out[(x + threadIdx.y) * N + y + threadIdx.x] = tile[threadIdx.x][threadIdx.y];
}

int main() {
  static float h[N * N];
  for (int i = 0; i < N * N; ++i) h[i] = float(i);
  float *in, *out;
  cudaMalloc(&in, sizeof h);
  cudaMalloc(&out, sizeof h);
  cudaMemcpy(in, h, sizeof h, cudaMemcpyHostToDevice);
  naive<<<dim3(2, 2), dim3(32, 32)>>>(in, out);
  tiled<<<dim3(2, 2), dim3(32, 32)>>>(in, out);
  cudaMemcpy(h, out, sizeof h, cudaMemcpyDeviceToHost);
  cudaFree(in);
  cudaFree(out);
  return h[1] == N ? 0 : 1;
}
