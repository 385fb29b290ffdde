// SPDX-License-Identifier: Apache-2.0
// Managed and pinned memory is the host's, too, which writes it unseen: what it has not touched nobody wrote.
#include <cstring>

__global__ void scale(float* values, const float* factor, int* done) {
  values[threadIdx.x] *= *factor;  // finds: uninitialised
  atomicAdd(done, 1);              // finds: uninitialised
}

__global__ void shift(const float* values, const float* pinned, float* out, int* done) {
  out[threadIdx.x] = values[threadIdx.x] + pinned[threadIdx.x];
  if (atomicAdd(done, 1) == 31) out[32] = 0;
}

int main() {
  float *values, *factor, *pinned, *out;
  int *done, *later;
  cudaMallocManaged(&values, 32 * sizeof *values);
  cudaMallocManaged(&factor, sizeof *factor);
  cudaMallocManaged(&done, sizeof *done);
  cudaMallocManaged(&later, sizeof *later);
  cudaMallocManaged(&out, 5000 * sizeof *out);
  cudaMallocHost(&pinned, 32 * sizeof *pinned);
  for (int i = 0; i < 32; ++i) values[i] = 0;
  scale<<<1, 32>>>(values, factor, done);
  cudaDeviceSynchronize();

  cudaMemset(later, 0, sizeof *later);
  std::memset(pinned, 0, 32 * sizeof *pinned);
  shift<<<1, 32>>>(values, pinned, out + 4000, later);
  cudaDeviceSynchronize();
  const bool right = out[4001] == 0;
  cudaFree(values);
  cudaFree(factor);
  cudaFree(done);
  cudaFree(later);
  cudaFree(out);
  cudaFreeHost(pinned);
  return right ? 0 : 1;
}
