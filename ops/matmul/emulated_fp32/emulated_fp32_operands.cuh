// SPDX-License-Identifier: Apache-2.0
// The pass over f32 operands before a product by parts, and the fallback for operands that fail the range
// check.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cuda_runtime_api.h>
#include "ops/matmul/kernels/pack/pack_operands.cuh"
#include "ops/matmul/plans/tile_order.hpp"
#include "ops/matmul/gemm/mixed_problem.hpp"
#include "tessera/core/device/device.hpp"

namespace tessera::matmul {

// Elements whose parts fill 128 bytes.
__host__ __device__ constexpr int k_of_line(Compute compute) { return compute == Compute::f16x3 ? 32 : 16; }

// Sizes and offsets of an operand's parts in memory that begins at a multiple of 256 bytes.
struct EmulatedLayout {
  std::int64_t line_bytes, lines_step;  // see DecomposedOperand
  std::size_t parts, scales, ranges;    // bytes, one after the other; then one OperandRange

  EmulatedLayout(Compute compute, std::int64_t lines, std::int64_t k);
  std::size_t bytes() const { return parts + scales + ranges + 256; }
  unsigned char* parts_in(void* base) const { return static_cast<unsigned char*>(base); }
  float* scales_in(void* base) const { return reinterpret_cast<float*>(parts_in(base) + parts); }
  unsigned char* ranges_in(void* base) const { return parts_in(base) + parts + scales; }
  unsigned char* range_in(void* base) const { return ranges_in(base) + ranges; }
};

// Workspace of the range check: zeros before and after. It is as large as the counters of other rungs, so
// that one workspace serves all.
inline constexpr std::size_t range_check_bytes = counter_bytes;

struct DecompositionTask {
  MatrixRef from;
  void* parts;         // see EmulatedLayout
  bool ready = false;  // true: already decomposed
};

// Decomposes both operands of a product and writes to `used` which arithmetic has to compute it.
void decompose_both(Compute compute, const DecompositionTask& a, const DecompositionTask& b,
                    void* range_check, Compute* used, cudaStream_t stream);
// Decomposes one operand, for several products.
void decompose_one(Compute compute, const DecompositionTask& x, void* range_check, cudaStream_t stream);

// Decomposes both operands to bf16 parts if `used` is bf16x6 instead of the requested arithmetic, and
// computes the product if it is strict f32.
void fall_back(const MixedProblem& p, Compute requested, const Compute* used, const DecompositionTask& a,
               const DecompositionTask& b, Run& run);

}  // namespace tessera::matmul
