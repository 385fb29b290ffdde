// SPDX-License-Identifier: Apache-2.0
// The last step of products whose k was cut: C of 16 bits from f32 sums.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include "ops/matmul/epilogue/epilogue.hpp"
#include "ops/matmul/sections.hpp"
#include "tessera/cuda/resources.hpp"

namespace tessera::matmul {
namespace {

constexpr int threads = 256;

__device__ float read(Element element, const void* data, std::int64_t at) {
  if (element == Element::f32) return static_cast<const float*>(data)[at];
  if (element == Element::f16) return __half2float(static_cast<const __half*>(data)[at]);
  return __bfloat162float(static_cast<const __nv_bfloat16*>(data)[at]);
}

__global__ void __launch_bounds__(threads)
    conclude(const __grid_constant__ MixedProblem p, const float* sums) {
  const std::int64_t at = std::int64_t{blockIdx.x} * threads + threadIdx.x;
  if (at >= p.m * p.n) return;
  const std::int64_t i = at / p.n, j = at % p.n, to = i * p.c_row + j * p.c_col;
  float value = sums[at];
  if (p.beta != 0) value += p.beta * read(p.c0.element, p.c0.data, i * p.c0.row + j * p.c0.col);
  if (p.bias != nullptr) value += read(p.bias_element, p.bias, i * p.bias_row + j * p.bias_col);
  value = activated(p.activation, value);
  if (p.c_element == Element::f16) static_cast<__half*>(p.c)[to] = __float2half_rn(value);
  else static_cast<__nv_bfloat16*>(p.c)[to] = __float2bfloat16_rn(value);
}

}  // namespace

void conclude_on_gpu(const SectionStep& step, void* stream) {
  const std::int64_t blocks = (step.p.m * step.p.n + threads - 1) / threads;
  conclude<<<static_cast<unsigned>(blocks), threads, 0, static_cast<cudaStream_t>(stream)>>>(step.p,
                                                                                             step.sums);
  cuda::check(cudaGetLastError());
}

}  // namespace tessera::matmul
