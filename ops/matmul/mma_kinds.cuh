// SPDX-License-Identifier: Apache-2.0
// What rung 12 multiplies: doubles, and floats of 16 bits. How a warp loads a block of 16 lines by 16 steps
// of k, and how it multiplies two; what follows the sum.
#pragma once
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <type_traits>
#include "epilogue.hpp"
#include "low_precision.hpp"
#include "matmul.hpp"
#include "mma_plan.hpp"
#include "tessera/cuda/ptx/mma_f64.cuh"
#include "tessera/cuda/ptx/mma_half.cuh"

namespace tessera::matmul {

namespace ptx = cuda::ptx;

struct MmaF64 {
  using Element = double;
  using Sum = double;
  using Problem = matmul::Problem<double>;
  template <class Panel>
  using Loads = MmaLoads64<Panel>;
  static constexpr int bytes = 8;
  static constexpr auto& tiles = mma_f64_tiles;

  struct Block {
    double half[2][4];
  };

  template <class Panel>
  static __device__ __forceinline__ void load(Block& to, const unsigned char* panel,
                                              const Loads<Panel>& loads, int block, int /*step*/) {
#pragma unroll
    for (int half = 0; half < 2; ++half)
#pragma unroll
      for (int s = 0; s < 4; ++s)
        to.half[half][s] = *reinterpret_cast<const double*>(panel + loads.place(block, half, s));
  }

  // Times eight columns of b.
  static __device__ __forceinline__ void multiply(double (&d)[4], const Block& a, const Block& b, int half) {
    const double both[8] = {a.half[0][0], a.half[1][0], a.half[0][1], a.half[1][1],
                            a.half[0][2], a.half[1][2], a.half[0][3], a.half[1][3]};
    ptx::mma_f64(d, both, b.half[half]);
  }

  static __device__ __forceinline__ double concluded(const Problem& p, std::int64_t i, std::int64_t j,
                                                     double sum) {
    return p.scaled(i, j, sum);
  }
  static __device__ __forceinline__ void put(const Problem& p, std::int64_t i, std::int64_t j, double value) {
    p.c(i, j) = value;
  }
};

template <class Element_>
struct MmaHalf {
  using Element = Element_;
  using Sum = float;
  using Problem = LowProblem;
  template <class Panel>
  using Loads = MmaLoads16<Panel>;
  static constexpr int bytes = 2;
  static constexpr auto& tiles = mma_half_tiles;

  struct Block {
    std::uint32_t r[4];
  };

  template <class Panel>
  static __device__ __forceinline__ void load(Block& to, const unsigned char* panel,
                                              const Loads<Panel>& loads, int block, int step) {
    ptx::load_pieces<Panel::along == Along::lines>(to.r, panel + loads.place(block, step));
  }

  static __device__ __forceinline__ void multiply(float (&d)[4], const Block& a, const Block& b, int half) {
    if constexpr (std::is_same_v<Element, __nv_bfloat16>) ptx::mma_bf16(d, a.r, b.r[half], b.r[half + 2]);
    else ptx::mma_f16(d, a.r, b.r[half], b.r[half + 2]);
  }

  // C's element is of 16 bits or f32; C0 and bias have it, too.
  static __device__ __forceinline__ float concluded(const Problem& p, std::int64_t i, std::int64_t j,
                                                    float sum) {
    const float scale_a = p.scale_a != nullptr && p.k != 0 ? p.scale_a[i * p.scale_a_step] : 1.0f,
                scale_b = p.scale_b != nullptr && p.k != 0 ? p.scale_b[j * p.scale_b_step] : 1.0f;
    float value = scaled_sum(p.alpha, scale_a, scale_b, sum);
    if (p.beta != 0) value += p.beta * read(p, p.c0.data, i * p.c0.row + j * p.c0.col);
    if (p.bias != nullptr) value += read(p, p.bias, i * p.bias_row + j * p.bias_col);
    return activated(p.activation, value);
  }
  static __device__ __forceinline__ void put(const Problem& p, std::int64_t i, std::int64_t j, float value) {
    const std::int64_t at = i * p.c_row + j * p.c_col;
    if (p.c_element == tessera::Element::f32) static_cast<float*>(p.c)[at] = value;
    else if (p.c_element == tessera::Element::f16) static_cast<__half*>(p.c)[at] = __half(value);
    else static_cast<__nv_bfloat16*>(p.c)[at] = __nv_bfloat16(value);
  }

 private:
  static __device__ __forceinline__ float read(const Problem& p, const void* data, std::int64_t at) {
    if (p.c_element == tessera::Element::f32) return static_cast<const float*>(data)[at];
    if (p.c_element == tessera::Element::f16) return static_cast<float>(static_cast<const __half*>(data)[at]);
    return static_cast<float>(static_cast<const __nv_bfloat16*>(data)[at]);
  }
};

}  // namespace tessera::matmul
