// SPDX-License-Identifier: Apache-2.0
// What rung 12 hands to the launches of its kernels, one translation unit for each element.
#pragma once
#include "ops/matmul/kernels/ampere/mma_plan.hpp"
#include "ops/matmul/matmul.hpp"
#include "ops/matmul/problem/mixed_problem.hpp"
#include "tessera/core/device.hpp"

namespace tessera::matmul {

// An operand by its lines: rows of A, columns of B; steps in elements.
struct MmaFactor {
  const void* data;
  std::int64_t lines, line_step, k_step;
};

struct MmaJob {
  MmaFactor a, b;
  std::int64_t k;
  // Cᵀ = Bᵀ·Aᵀ is computed, and written where C lies: for results whose columns are contiguous.
  bool transposed;
  MmaOptions options;
};

// The compute capability for which the code was compiled that a device runs: 75, or 90; 0: there is none.
int mma_code(const Device& device);

void run_mma(const Problem<double>& p, const MmaJob& job, Run& run);
void run_mma_bf16(const MixedProblem& p, const MmaJob& job, Run& run);
void run_mma_f16(const MixedProblem& p, const MmaJob& job, Run& run);

}  // namespace tessera::matmul
