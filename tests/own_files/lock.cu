// SPDX-License-Identifier: Apache-2.0
// A parameter with a destructor: the host destroys its own copies, no thread does. Shared memory of the file.
#include <cstdio>

int freed = 0;
struct Lock {
  int* word;
  Lock() {
    cudaMalloc(&word, sizeof(int));
    cudaMemset(word, 0, sizeof(int));
  }
  Lock(const Lock& other) : word(other.word) {}
  ~Lock() { ++freed; }
  __device__ void lock() {
    while (atomicCAS(word, 0, 1) != 0) {
    }
  }
  __device__ void unlock() { atomicExch(word, 0); }
};

static __shared__ int parts[32];

__device__ int sum() {
  int out = 0;
  for (int i = 0; i < 32; ++i) out += parts[i];
  return out;
}

__global__ void add(Lock lock, int* out) {
  parts[threadIdx.x] = threadIdx.x + blockIdx.x;
  __syncthreads();
  if (threadIdx.x != 0) return;
  lock.lock();
  atomicAdd(out, sum());
  lock.unlock();
}

int main() {
  Lock lock;
  int *d, h;
  cudaMalloc(&d, sizeof h);
  cudaMemset(d, 0, sizeof h);
  add<<<4, 32>>>(lock, d);
  printf("%d\n", freed);
  cudaMemcpy(&h, d, sizeof h, cudaMemcpyDeviceToHost);
  cudaFree(d);
  cudaFree(lock.word);
  printf("%d\n", h);  // 4 · 496 + 32 · 6
}
