// SPDX-License-Identifier: Apache-2.0
// CUDA's syntax in the places where it is hard to find; each kernel checks what it did.
#include <cstdio>
#include <iostream>
#include "cuda_runtime.h"

#define TID threadIdx.x
#define LAUNCH(kernel, ...) kernel<<<grid, block, 0, 0>>>(__VA_ARGS__)
#define CHECK(call)                                                 \
  do {                                                              \
    cudaError_t error = call;                                       \
    if (error != cudaSuccess) {                                     \
      printf("line %d: %s\n", __LINE__, cudaGetErrorString(error)); \
      exit(1);                                                      \
    }                                                               \
  } while (0)

template <class T>
struct Pair;
template <class T>
std::ostream& operator<<(std::ostream&, const Pair<T>&);
template <class T>
struct Pair {
  T a, b;
  friend std::ostream& operator<< <>(std::ostream&, const Pair<T>&);
};

namespace deep {
namespace er {
__global__ void places(int* out) { out[blockIdx.x * blockDim.x + TID] = blockIdx.x * 100 + threadIdx.x; }
}  // namespace er
}  // namespace deep

__constant__ float factors[3] = {1, 2, 3}, offset;
__device__ int counter = 5;
static __device__ __managed__ int managed;
extern __shared__ int whole[];

__device__ float twice(float a) { return 2 * a; }
typedef float (*Function)(float);
__device__ Function function = twice;

template <typename T, int N>
__global__ void __launch_bounds__(256) tiled(T* out, const T* __restrict__ in, int n = N) {
  __shared__ T a[N][N + 1], b[4];
  __shared__ alignas(16) struct Two { int x, y; } two;
  extern __shared__ T dynamic[];
  const int x = threadIdx.x, y = threadIdx.y;
  auto read = [&](int i) { return a[i][threadIdx.y] + b[0]; };
  a[x][y] = in[x * N + y]; /* a comment */
  if (y == 0) dynamic[x] = 1;
  if (x == 0 && y == 0) b[0] = 10, two.x = 1, two.y = 2;
  __syncthreads();
  if (x >= n) return;
  out[x * N + y] = read(x) + dynamic[x] + two.x + two.y;
}

template <typename T>
__global__ void add(T* to, const T* from);  // defined below
static __global__ void overloaded(int* out, int a);
__global__ void overloaded(int* out, const char* text);

struct Sum {
  int x;
  __host__ __device__ Sum() : x(0) {}
  __device__ explicit Sum(int) : x{int(threadIdx.x)} {}
  __device__ int operator()(int a) const { return a + x; }
};

template <typename T>
__global__ void add(T* to, const T* from) {
  to[threadIdx.x] += from[threadIdx.x];
}
__global__ void overloaded(int* out, const char* text) {
  printf("%d %s\n", threadIdx.x, text);
  printf(R"(raw "threadIdx" <<<
)");
  if (text == nullptr) return;
  out[0] = 1;
}
static __global__ void overloaded(int* out, int a) {
  __shared__ double many[2][3][4];
  many[0][1][2] = a + Sum(0)(1);
  out[0] = int(many[0][1][2]);
}
__global__ void file_wide(int* out) {
  whole[threadIdx.x] = threadIdx.x;
  __syncthreads();
  out[threadIdx.x] = whole[blockDim.x - 1 - threadIdx.x];
}
__global__ void variables(float* out) {
  out[0] = function(factors[2]) + offset;
  atomicAdd(&counter, 1);
  managed = 9;
}
template <class... Arguments>
__global__ void several(int* out, Arguments... arguments) {
  out[0] = sizeof...(arguments) + (0 + ... + int(arguments));
}

int failures = 0;
void expect(const char* what, double is, double should) {
  if (is == should) return;
  ++failures;
  printf("%s is %g, not %g\n", what, is, should);
}

int main(int argc, char** argv) {
  dim3 blockDim(4, 2), grid = dim3(1), block(8);
  expect("blockDim", blockDim.x * 10 + blockDim.y, 42);
  int *p, h[64];
  float *f, g[64];
  CHECK(cudaMalloc(&p, sizeof h));
  CHECK(cudaMalloc((void**)&f, 2 * sizeof g));
  const auto read = [&] { CHECK(cudaMemcpy(h, p, sizeof h, cudaMemcpyDeviceToHost)); };

  CHECK(cudaMemset(p, 0, sizeof h));
  deep::er::places<<<2, 32>>>(p), read();
  expect("places", h[33], 101);
  // clang-format off
  deep::er::places << <2,
                       32 >> > (p);
  // clang-format on
  void (*k)(int*) = deep::er::places;
  void (*ks[2])(int*) = {k, k};
  for (int i = 0; i < 2; ++i) ks[i]<<<1, 32>>>(p);
  if (argc > 0) (*k)<<<1, 8>>>(p);
  else k<<<1, 1>>>(p);
  read();
  expect("places by pointer", h[7], 7);

  for (int i = 0; i < 64; ++i) g[i] = float(i);
  CHECK(cudaMemcpy(f, g, sizeof g, cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy(f + 64, g, sizeof g, cudaMemcpyHostToDevice));
  tiled<float, (8 > 4 ? 8 : 4)><<<(argc > 99 ? 2 : 1), dim3(8, 8), sizeof(float) * (32 >> 2)>>>(f, f + 64);
  CHECK(cudaMemcpy(g, f, sizeof g, cudaMemcpyDeviceToHost));
  expect("tiled", g[63], 63 + 10 + 1 + 3);
  LAUNCH((add<float>), f, f + 64);
  CHECK(cudaMemcpy(g, f, sizeof g, cudaMemcpyDeviceToHost));
  expect("add", g[7], 7 + 14 + 7);

  overloaded<<<1, 1>>>(p, 3);
  read(), expect("overloaded", h[0], 4);
  overloaded<<<1, 1>>>(p, "text");
  read(), expect("the other", h[0], 1);
  file_wide<<<1, 8, 8 * sizeof(int)>>>(p);
  read(), expect("file_wide", h[1], 6);

  const float value = 0.5f;
  CHECK(cudaMemcpyToSymbol(offset, &value, sizeof value));
  variables<<<1, 1>>>(f);
  CHECK(cudaDeviceSynchronize());
  expect("managed", managed, 9);
  CHECK(cudaMemcpy(g, f, sizeof(float), cudaMemcpyDeviceToHost));
  expect("variables", g[0], 6.5);
  int count = 0;
  CHECK(cudaMemcpyFromSymbol(&count, counter, sizeof count));
  expect("counter", count, 6);

  several<<<1, 1>>>(p, 1, 2.0f, 'a' - 'a');
  read(), expect("several", h[0], 6);
  int one = 1;
  void* arguments[] = {&p, &one};
  CHECK(cudaMemset(p, 0, sizeof h));
  void* of_places[] = {&p};
  CHECK(cudaLaunchKernel((void*)deep::er::places, dim3(1), dim3(4), of_places, 0, 0));
  read(), expect("cudaLaunchKernel", h[3], 3);
  (void)arguments;

  CHECK(cudaFree(p));
  CHECK(cudaFree(f));
  std::cout << (failures == 0 ? "all right" : "wrong") << " " << (1 << 3 >> 2) << std::endl;
  return failures == 0 ? 0 : 1;
}
