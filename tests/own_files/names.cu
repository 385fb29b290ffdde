// SPDX-License-Identifier: Apache-2.0
// Members, parameters and variables with the names of what is built in: C++ says which is meant.
#include <cstdio>

struct Launch {
  dim3 gridDim, blockDim;
  __host__ __device__ Launch(dim3 g, dim3 b) : gridDim(g), blockDim{b} {}
  __host__ __device__ unsigned total() const { return gridDim.x * blockDim.x; }
};
struct Base {
  int warpSize;
  uint3 threadIdx;
};
struct Derived : Base {
  __device__ int get() const { return threadIdx.x + warpSize; }
};
struct Pair {
  int a, b;
};

__device__ int of(const dim3& blockIdx, int i) { return blockIdx.x + i; }

__global__ void names(int* out, Launch launch, Derived own) {
  struct Local {
    int gridDim, blockIdx;
    __device__ int get() const { return gridDim - blockIdx; }
  } local{100, 1};
  const int i = threadIdx.x;
  static_assert(sizeof(decltype(threadIdx.x)) == 4);
  const auto lambda = [](dim3 threadIdx) { return int(threadIdx.x); };
  int* const row = out + 8 * i;
  row[0] = launch.total();
  row[1] = own.get();
  row[2] = local.get();
  row[3] = lambda(dim3(threadIdx.x + 7));
  row[4] = of(dim3(5), blockDim.x);
  {
    auto [gridDim, b] = Pair{8, 9};
    row[5] = gridDim + b;
  }
  for (uint3 blockIdx = {3, 0, 0}; blockIdx.x < 4; ++blockIdx.x) row[6] = blockIdx.x;
  row[7] = gridDim.x * blockDim.x;
}

int main() {
  const Launch launch(dim3(10), dim3(20));
  Derived own;
  own.warpSize = 4;
  own.threadIdx = {50, 0, 0};
  int *d, h[16];
  cudaMalloc(&d, sizeof h);
  names<<<1, 2>>>(d, launch, own);
  cudaMemcpy(h, d, sizeof h, cudaMemcpyDeviceToHost);
  cudaFree(d);
  printf("%u:", launch.total());
  for (int value : h) printf(" %d", value);
  printf("\n");
}
