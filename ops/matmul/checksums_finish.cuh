// SPDX-License-Identifier: Apache-2.0
// The second launch of checksums: what blocks have left of each row is added up, always in the same order.
// Rows whose squares are no doubles, rows of nothing among them, have their norms made here, from the matrix.
#pragma once
#include "ops/matmul/checksums_kernels.cuh"

namespace tessera::matmul::checksum {

// Of a block, and threads of each row: few rows, for those that are made anew wait for each other.
constexpr int finish_rows = 8, finish_threads = 32;
static_assert(finish_rows * finish_threads == threads);

// Which element it is, is asked for each: rows that need this are few.
__device__ inline double number_at(const Operand& x, std::int64_t at) {
  switch (x.element) {
    case Element::f64:
      return number(static_cast<const double*>(x.data)[at]);
    case Element::f32:
      return number(static_cast<const float*>(x.data)[at]);
    case Element::bf16:
      return number(static_cast<const bf16*>(x.data)[at]);
    case Element::f16:
      return number(static_cast<const f16*>(x.data)[at]);
    case Element::e4m3:
      return number(static_cast<const e4m3*>(x.data)[at]);
    case Element::e5m2:
      return number(static_cast<const e5m2*>(x.data)[at]);
    default:
      return nan("");  // whole numbers have none
  }
}

// The norm of row i, by all threads of a block, for whom it is thread 0's to use.
__device__ inline double norm_by_block(const Pass& p, std::int64_t i, int thread) {
  __shared__ int largest;
  __shared__ double found[threads];
  const auto addend = [&](std::int64_t j) {
    return term_of(number_at(p.matrix, i * p.matrix.row + j * p.matrix.col), p.sizes[j]);
  };
  if (thread == 0) largest = Term::nothing;
  __syncthreads();
  int own = Term::nothing;
#pragma unroll 1
  for (std::int64_t j = thread; j < p.cols; j += threads) own = max(own, addend(j).exponent);
  atomicMax(&largest, own);
  __syncthreads();
  const int exponent = largest;
  if (exponent == Term::nothing) {
    __syncthreads();  // before another row's
    return 0;
  }
  double squares = 0;
#pragma unroll 1
  for (std::int64_t j = thread; j < p.cols; j += threads) squares += scaled_square(addend(j), exponent);
  found[thread] = squares;
  __syncthreads();
  for (int half = threads / 2; half > 0; half /= 2) {
    if (thread < half) found[thread] += found[thread + half];
    __syncthreads();
  }
  return norm_of_scaled(found[0], exponent);
}

__global__ void __launch_bounds__(threads) finish(const __grid_constant__ Jobs jobs) {
  const Job& job = jobs.job[blockIdx.y];
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * finish_rows, i = first + threadIdx.x;
  if (first >= job.pass.rows) return;
  Partial found;
  if (i < job.pass.rows)
    for (int part = static_cast<int>(threadIdx.y); part < job.parts; part += finish_threads) {
      found.sum += job.sums[part * job.pass.rows + i];
      found.squares += job.squares[part * job.pass.rows + i];
    }
  __shared__ Partial shared[finish_threads][finish_rows];
  shared[threadIdx.y][threadIdx.x] = found;
  __syncthreads();
  bool lost = false;
  if (threadIdx.y == 0 && i < job.pass.rows) {
#pragma unroll 4
    for (int y = 1; y < finish_threads; ++y) {
      found.sum += shared[y][threadIdx.x].sum;
      found.squares += shared[y][threadIdx.x].squares;
    }
    shared[0][threadIdx.x].squares = found.squares;
    job.pass.sums[i] = found.sum;
    job.pass.norms[i] = sqrt(found.squares);
    lost = !squares_hold(found.squares);
  }
  if (__syncthreads_or(lost) == 0) return;
  const int thread = static_cast<int>(threadIdx.y) * finish_rows + static_cast<int>(threadIdx.x);
#pragma unroll 1
  for (int r = 0; r < finish_rows && first + r < job.pass.rows; ++r) {
    if (squares_hold(shared[0][r].squares)) continue;
    const double norm = norm_by_block(job.pass, first + r, thread);
    if (thread == 0) job.pass.norms[first + r] = norm;
  }
}

}  // namespace tessera::matmul::checksum
