// SPDX-License-Identifier: Apache-2.0
// Configuration of rung 17's kernel for few rows: the number of rows, and the access to the large operand.
#pragma once
#include "ops/matmul/kernels/simt/gemm_problem.hpp"
#include "ops/matmul/kernels/simt/vectorized.hpp"

namespace tessera::matmul {

inline namespace TESSERA_UNIT {

// With more rows, tiles in shared memory or tensor cores are as fast, whatever the element type.
template <class T>
inline constexpr int max_rows = sizeof(T) == 1 ? 1 : 4;

struct FewRowsConfig {
  int rows = 4;         // rows of C, at most
  bool along_k = true;  // the lines of B are contiguous along k; false: along n
  // 16-byte loads of B's lines are aligned (narrow elements along k: A's, too). Always true for one row along
  // k, whose kernel aligns the loads itself.
  bool wide = true;
  int lines = 1;  // lines of B per warp, for one row along k: 1 or 4
};

// True if A can be read along k with aligned 16-byte loads.
template <class P>
SIMT bool is_a_vector_aligned(const P& p) {
  return is_vector_aligned(p.a.data, p.a.stride[1], p.m() == 1 ? 0 : p.a.stride[0]);
}

template <class T>
GemmProblem<T> few_rows_first(const GemmArguments<T>& given) {
  const auto p = gemm_problem<T>(given);
  return p.m() <= p.n() ? p : transposed(p);
}

template <class T>
FewRowsConfig config_of(const GemmProblem<T>& p, int lines_per_warp = 1) {
  const bool along_k = p.b.stride[0] == 1 && (p.b.stride[1] != 1 || p.n() == 1);
  const auto is_b_vector_aligned = [&](std::int64_t along, std::int64_t across, std::int64_t lines) {
    return is_vector_aligned(p.b.data, along, lines == 1 ? 0 : across);
  };
  return {.rows = p.m() == 1 ? 1 : max_rows<T>,
          .along_k = along_k,
          .wide = along_k ? p.m() == 1 || (is_b_vector_aligned(p.b.stride[0], p.b.stride[1], p.n()) &&
                                           (!is_narrow<T> || is_a_vector_aligned(p)))
                          : is_b_vector_aligned(p.b.stride[1], p.b.stride[0], p.k()),
          .lines = lines_per_warp};
}

}  // namespace TESSERA_UNIT
}  // namespace tessera::matmul
