// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <vector>

constexpr int width = 32, stages = 8;

__global__ void multiply(const float* in, float* out) {
  __shared__ float buffer[2][width];
  const bool copies = threadIdx.x < width;
  const int lane = threadIdx.x % width;
  if (copies) buffer[0][lane] = in[lane];
  __syncthreads();
  float product = 1;
  for (int stage = 0; stage < stages; ++stage) {
    if (copies && stage + 1 < stages) buffer[stage % 2][lane] = in[(stage + 1) * width + lane];
    if (!copies) product *= buffer[stage % 2][lane];
    __syncthreads();
  }
  if (!copies) out[lane] = product;
}

int main() {
  std::vector<float> in(stages * width), out(width);
  for (int i = 0; i < stages * width; ++i) in[i] = 1 + i / width;
  float *d_in, *d_out;
  cudaMalloc(&d_in, in.size() * sizeof(float));
  cudaMalloc(&d_out, width * sizeof(float));
  cudaMemcpy(d_in, in.data(), in.size() * sizeof(float), cudaMemcpyHostToDevice);
  multiply<<<1, 2 * width>>>(d_in, d_out);
  cudaMemcpy(out.data(), d_out, width * sizeof(float), cudaMemcpyDeviceToHost);
  std::printf("first %g, last %g, expected: 40320\n", out[0], out[width - 1]);
  cudaFree(d_in);
  cudaFree(d_out);
}
/* remedies_test
finds 16 error: correct an index, since both lines use buffer[stage % 2]
fix 15:     if (copies && stage + 1 < stages) buffer[(stage + 1) % 2][lane] = in[(stage + 1) * width + lane];
prints first 40320, last 40320, expected: 40320
*/
