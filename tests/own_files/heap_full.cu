// SPDX-License-Identifier: Apache-2.0
// The heap of kernels holds what it is told to, in blocks small and large, and malloc() says where it ends.
#include <cstdio>
#include <cstdlib>

__device__ int* kept[20000];

__global__ void allocate() {
  int* const own = new int;
  if (own != nullptr) *own = blockIdx.x;
  kept[blockIdx.x] = own;
}

__global__ void sum(unsigned* total) {
  atomicAdd(total, kept[blockIdx.x] == nullptr ? 0u : *kept[blockIdx.x]);
  delete kept[blockIdx.x];
}

__global__ void fill(int* given, size_t bytes) {
  void* const own = malloc(bytes);
  if (own != nullptr) atomicAdd(given, 1);
  free(own);
  __syncthreads();
  void* const large = malloc(bytes);
  if (large != nullptr) atomicAdd(given, 100);
  __syncthreads();
  free(large);
}

int main() {
  struct {
    unsigned total = 0;
    int given = 0;
  } host, *device;
  size_t limit = 0;
  cudaDeviceGetLimit(&limit, cudaLimitMallocHeapSize);
  std::printf("%zu MiB\n", limit >> 20);
  std::printf("%s\n", cudaGetErrorName(cudaDeviceSetLimit(cudaLimitMallocHeapSize, 16 << 20)));
  cudaMalloc(&device, sizeof host);
  cudaMemcpy(device, &host, sizeof host, cudaMemcpyHostToDevice);
  allocate<<<20000, 1>>>();
  sum<<<20000, 1>>>(&device->total);
  for (int i = 0; i < 20; ++i) fill<<<1, 32>>>(&device->given, 1 << 20);
  cudaMemcpy(&host, device, sizeof host, cudaMemcpyDeviceToHost);
  std::printf("%u %d\n", host.total, host.given);
  std::printf("%s\n", cudaGetErrorName(cudaDeviceSetLimit(cudaLimitMallocHeapSize, 32 << 20)));
  cudaFree(device);
}
