// SPDX-License-Identifier: Apache-2.0
// Each element of a row is divided by the row's largest, a block per row. Many GPUs wait for ever.
#include <cstdio>
#include <vector>

constexpr int threads = 128;

__global__ void normalise(const float* in, float* out, int columns) {
  __shared__ float largest[threads];
  const int t = threadIdx.x;
  const float* row = in + blockIdx.x * columns;
  largest[t] = t < columns ? row[t] : 0;
  __syncthreads();
  for (int half = threads / 2; half > 0; half /= 2) {
    if (t < half) {
      largest[t] = fmaxf(largest[t], largest[t + half]);
      __syncthreads();
    }
  }
  __syncthreads();
  if (t < columns) out[blockIdx.x * columns + t] = row[t] / largest[0];
}

int main() {
  const int rows = 4, columns = 100, n = rows * columns;
  std::vector<float> in(n), out(n);
  for (int i = 0; i < n; ++i) in[i] = 1 + i % columns;
  float *d_in, *d_out;
  cudaMalloc(&d_in, n * sizeof(float));
  cudaMalloc(&d_out, n * sizeof(float));
  cudaMemcpy(d_in, in.data(), n * sizeof(float), cudaMemcpyHostToDevice);
  normalise<<<rows, threads>>>(d_in, d_out, columns);
  cudaMemcpy(out.data(), d_out, n * sizeof(float), cudaMemcpyDeviceToHost);
  std::printf("first %g, last %g, expected: 0.01 and 1\n", out[0], out[n - 1]);
  cudaFree(d_in);
  cudaFree(d_out);
}
