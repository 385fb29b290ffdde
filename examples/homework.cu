// SPDX-License-Identifier: Apache-2.0
// The step from each sample to the next. The results are right, and the kernel has a mistake all the same.
#include <cstdio>
#include <vector>

struct Sample {
  float time, value, low, high;
};

constexpr int threads = 256;

__global__ void steps(const Sample* samples, float* out, int n) {
  __shared__ float values[threads];
  const int t = threadIdx.x;
  const int i = blockIdx.x * blockDim.x + t;
  if (i < n) values[t] = samples[i].value;
  if (i > 0 && i < n) out[i - 1] = values[t] - (t > 0 ? values[t - 1] : samples[i - 1].value);
}

int main() {
  const int n = 1000;
  std::vector<Sample> samples(n);
  std::vector<float> out(n - 1);
  for (int i = 0; i < n; ++i) samples[i].value = i * i;
  Sample* d_samples;
  float* d_out;
  cudaMalloc(&d_samples, n * sizeof(Sample));
  cudaMalloc(&d_out, (n - 1) * sizeof(float));
  cudaMemcpy(d_samples, samples.data(), n * sizeof(Sample), cudaMemcpyHostToDevice);
  steps<<<(n + threads - 1) / threads, threads>>>(d_samples, d_out, n);
  cudaMemcpy(out.data(), d_out, (n - 1) * sizeof(float), cudaMemcpyDeviceToHost);
  int wrong = 0;
  for (int i = 0; i < n - 1; ++i) wrong += out[i] != 2 * i + 1;
  std::printf("%d of %d steps are wrong\n", wrong, n - 1);
  cudaFree(d_samples);
  cudaFree(d_out);
}
