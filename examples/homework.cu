// SPDX-License-Identifier: Apache-2.0
// The average of each sample and the seven before it, by way of shared memory. Its results are right
// more often than not, and it has a mistake all the same.
#include <cmath>
#include <cstdio>
#include <vector>

constexpr int threads = 256, span = 8;

__global__ void average(const float* in, float* out, int n) {
  __shared__ float tile[threads + span - 1];
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const int mine = threadIdx.x + span - 1;
  tile[mine] = i < n ? in[i] : 0;
  if (threadIdx.x < span - 1) tile[threadIdx.x] = i < span - 1 ? 0 : in[i - (span - 1)];
  float sum = 0;
  for (int k = 0; k < span; ++k) sum += tile[mine - k];
  if (i < n) out[i] = sum / span;
}

int main() {
  const int n = 1000;
  std::vector<float> in(n), out(n);
  for (int i = 0; i < n; ++i) in[i] = i % 10;
  float *d_in, *d_out;
  cudaMalloc(&d_in, n * sizeof(float));
  cudaMalloc(&d_out, n * sizeof(float));
  cudaMemcpy(d_in, in.data(), n * sizeof(float), cudaMemcpyHostToDevice);
  average<<<(n + threads - 1) / threads, threads>>>(d_in, d_out, n);
  cudaMemcpy(out.data(), d_out, n * sizeof(float), cudaMemcpyDeviceToHost);
  int wrong = 0;
  for (int i = 0; i < n; ++i) {
    float sum = 0;
    for (int k = 0; k < span && k <= i; ++k) sum += in[i - k];
    wrong += std::fabs(out[i] - sum / span) > 1e-5f;
  }
  std::printf("%d of %d averages are wrong\n", wrong, n);
  cudaFree(d_in);
  cudaFree(d_out);
  return wrong != 0;
}
