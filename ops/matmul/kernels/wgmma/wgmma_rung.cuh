// SPDX-License-Identifier: Apache-2.0
// Shared by the wgmma rungs: builds a WgmmaJob from Arguments.
#pragma once
#include "ops/matmul/kernels/wgmma/wgmma_job.cuh"
#include "ops/matmul/gemm/operands.hpp"
#include "tessera/rung.hpp"

namespace tessera::matmul {

// Returns the problem with a row-major C: `p` itself, or its transpose Cᵀ = Bᵀ·Aᵀ.
inline MixedProblem with_row_major_c(const MixedProblem& p) {
  return p.c_col_stride == 1 || p.n == 1 ? p : p.transposed();
}

inline EpilogueArgs epilogue_of(const MixedProblem& p) {
  EpilogueArgs e;
  e.alpha = p.alpha;
  e.beta = p.beta;
  e.c0 = p.c0.data;
  e.c0_row_stride = p.c0.row_stride;
  e.c0_col_stride = p.c0.col_stride;
  e.bias = p.bias;
  e.bias_element = p.bias_element;
  e.bias_row_stride = p.bias_row_stride;
  e.bias_col_stride = p.bias_col_stride;
  e.scale_a = p.k == 0 ? nullptr : p.scale_a;
  e.scale_b = p.k == 0 ? nullptr : p.scale_b;
  e.scale_a_stride = p.scale_a_stride;
  e.scale_b_stride = p.scale_b_stride;
  e.post_op = p.post_op;
  return e;
}

inline MatrixRef operand_a(const MixedProblem& p) {
  return {p.a.data, static_cast<int>(size_of(p.a.element)), p.m, p.k, p.a.row_stride, p.a.col_stride};
}
// Returns B transposed: the rows of a MatrixRef (ops/matmul/kernels/pack/matrix_ref.hpp) are rows of A or
// columns of B.
inline MatrixRef operand_b(const MixedProblem& p) {
  return {p.b.data, static_cast<int>(size_of(p.b.element)), p.n, p.k, p.b.col_stride, p.b.row_stride};
}

// Returns the job of a product with p.m, p.n ≥ 1 and a row-major C.
inline WgmmaJob job_of(const MixedProblem& p, const TileOptions& options) {
  WgmmaJob job{.a = operand_a(p), .b = operand_b(p), .args = {}, .options = options};
  job.args.m = p.m;
  job.args.n = p.n;
  job.args.epilogue = epilogue_of(p);
  job.args.c_data = p.c;
  job.args.c_element = p.c_element;
  job.args.c_stride = p.c_row_stride;
  return job;
}

// Returns an upper bound on the workspace size, in bytes.
inline std::size_t wgmma_workspace(const Arguments& arguments, const Tuning&) {
  const MixedProblem p = with_row_major_c(MixedProblem::of(arguments));
  return counter_bytes + max_split_bytes + packed_bytes(operand_a(p)) + packed_bytes(operand_b(p));
}

inline Reason unsupported_by_wgmma(const MixedProblem& p) {
  if (p.a.element == Element::f32 && p.compute != Compute::tf32)
    return "f32 operands would be rounded to TF32, which drops 13 bits: --compute tf32 allows it";
  if (p.c_col_stride != 1 && p.c_row_stride != 1 && p.n != 1 && p.m != 1)
    return "neither the rows nor the columns of C are contiguous";
  return exceeds_index_range(p.m, p.n, p.k);
}
inline Reason wgmma_refuses(const Arguments& arguments, const Tuning&, const Device&) {
  return unsupported_by_wgmma(MixedProblem::of(arguments));
}

inline Reason no_hopper(const Device& device) {
  if (device.compute_capability != 90) return "requires a Hopper GPU (compute capability 9.0)";
  return cuda::no_tensor_maps();
}

// Steps towards rung 16, for bf16 and f16.
enum class Step { one_warpgroup, warp_specialized, persistent };
void run_step(WgmmaJob& job, Step step, bool f16, Run& run);

// Returns the variant of a step, which has one tile shape for all sizes.
template <Step step>
Variant step_variant(const char* idea) {
  Choice choice;
  choice.prepare[Element::bf16] = choice.prepare[Element::f16] = without_plan(
      [](const Arguments& arguments, const Tuning&, Run& run) {
        const MixedProblem p = with_row_major_c(MixedProblem::of(arguments));
        if (p.m == 0 || p.n == 0) return;
        WgmmaJob job = job_of(p, {});
        run_step(job, step, p.a.element == Element::f16, run);
      },
      wgmma_workspace);
  choice.refuses = wgmma_refuses;
  Variant out;
  out.idea = idea;
  out.where = Where::cuda;
  out.unsupported_device = no_hopper;
  out.choices.push_back(std::move(choice));
  return out;
}

}  // namespace tessera::matmul
