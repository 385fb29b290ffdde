// SPDX-License-Identifier: Apache-2.0
// The passes over f32 operands before a product by parts, and strict f32 where that would not be as good.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cuda_runtime_api.h>
#include "ops/matmul/kernels/pack_operands.cuh"
#include "ops/matmul/kernels/tile_order.hpp"
#include "ops/matmul/problem/mixed_problem.hpp"
#include "tessera/core/device.hpp"

namespace tessera::matmul {

// Whose parts fill 128 bytes.
__host__ __device__ constexpr int k_of_line(Compute compute) { return compute == Compute::f16x3 ? 32 : 16; }

// What an operand's parts take, and where they lie in a piece of memory that begins at a multiple of 256.
struct SplitLayout {
  std::int64_t line_bytes, lines_step;  // as SplitOperand has them
  std::size_t parts, scales, ranges;    // bytes, one after the other; then one OperandRange

  SplitLayout(Compute compute, std::int64_t lines, std::int64_t k);
  std::size_t bytes() const { return parts + scales + ranges + 256; }
  unsigned char* parts_in(void* room) const { return static_cast<unsigned char*>(room); }
  float* scales_in(void* room) const { return reinterpret_cast<float*>(parts_in(room) + parts); }
  unsigned char* ranges_in(void* room) const { return parts_in(room) + parts + scales; }
  unsigned char* range_in(void* room) const { return ranges_in(room) + ranges; }
};

// Spare memory of the judgement: zeros before and after. As much as other rungs' counters take, for all of
// which one workspace serves.
inline constexpr std::size_t judge_bytes = counter_bytes;

struct Splitting {
  MatrixRef from;
  void* room;          // as SplitLayout has it
  bool ready = false;  // the parts are there already
};

// Both operands of a product, and the verdict: 1, or 0 where strict f32 is to be computed.
void split_both(Compute compute, const Splitting& a, const Splitting& b, void* judge, std::uint32_t* verdict,
                cudaStream_t stream);
// One, for products to come.
void split_one(Compute compute, const Splitting& x, void* judge, cudaStream_t stream);

// The product in strict f32, if the verdict is 0.
void multiply_strictly(const MixedProblem& p, const std::uint32_t* verdict, Run& run);

}  // namespace tessera::matmul
