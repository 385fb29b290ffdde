// SPDX-License-Identifier: Apache-2.0
// Updates that one instruction of a CPU does, that none does, and one in a function that the kernel calls.
#include <cstdio>
#include <cuda_fp16.h>

__device__ void add(double* sum, double value) { atomicAdd(sum, value); }

__global__ void count(int* number, float* sum, __half* half, double* other) {
  atomicAdd(number, 1);
  atomicAdd(sum, 0.5f);
  atomicAdd(half, __float2half(0.25f));
  atomicMax(number, 0);
  add(other, 0.5);
}

int main() {
  struct Sums {
    double other;
    int number;
    float sum;
    __half half;
  } sums = {}, *device;
  cudaMalloc(&device, sizeof sums);
  cudaMemcpy(device, &sums, sizeof sums, cudaMemcpyHostToDevice);
  count<<<1, 64>>>(&device->number, &device->sum, &device->half, &device->other);
  cudaMemcpy(&sums, device, sizeof sums, cudaMemcpyDeviceToHost);
  cudaFree(device);
  printf("%d %g %g %g\n", sums.number, sums.sum, __half2float(sums.half), sums.other);
}
