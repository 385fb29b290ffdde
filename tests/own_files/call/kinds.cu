// SPDX-License-Identifier: Apache-2.0
// Parameters of each type that --call takes.
#include <cuda_fp16.h>
#include <cstdint>

#define OFFSET 1
constexpr int factor = 2;

__global__ void each(unsigned int* u, const long long* l, const half* h, std::uint8_t const* __restrict__ b,
                     double* sums, unsigned n, float weight, int offset) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  u[i] += offset;
  sums[i] = l[i] + static_cast<float>(h[i]) + b[i] * weight;
}

namespace solutions {
extern "C" {
void solve(unsigned int* u, const long long* l, const half* h, std::uint8_t const* __restrict__ b,
           double sums[], unsigned n, float weight, int offset) {
  each<<<1, n>>>(u, l, h, b, sums, n, weight, offset);
}
}
}  // namespace solutions
using solutions::solve;

void twice(float* a) {}
void twice(double* a) {}
void rows(float** a) {}
void vectors(float4* a) {}
template <class T>
void of_types(T* a) {}
__device__ void inner(float* a) {}
