// SPDX-License-Identifier: Apache-2.0
// The product for programs: C = α·op(A)·op(B) + β·C over matrices in the caller's memory.
// Installed: for programs.
#pragma once
#include <cstdint>
#include "tessera/run/run.hpp"

namespace tessera::matmul {

// A matrix in host memory, row after row.
template <class T>
struct MatrixView {
  T* data = nullptr;
  std::int64_t rows = 0, cols = 0;
  std::int64_t leading_dimension = 0;  // from one row to the next, in elements; 0: cols
};
template <class T>
using ConstMatrixView = MatrixView<const T>;

struct Options {
  double alpha = 1, beta = 0;                     // C is read only where β is not 0
  bool transpose_a = false, transpose_b = false;  // the memory holds the transpose
  Request request = {};  // device, variant, tuning; by default the best for the sizes
  bool check = false;    // verify, see Outcome::verdict
};

// A is m × k, or k × m where it is transposed; B is k × n or n × k; C is m × n and lies apart from both
// (parts of one matrix may lie side by side). The
// Outcome says what ran where, how long it took and, with `check`, whether the result is right.
// T: float, double, std::int32_t (which wraps modulo 2^32, and wants whole α and β).
//
// Throws Error of kind user where shapes do not fit ("B has k = 33, but A has 65"), a leading dimension
// is smaller than the row, C overlaps A or B, a variant is unknown or refuses; no_device where the device cannot be used.
template <class T>
Outcome multiply(ConstMatrixView<T> a, ConstMatrixView<T> b, MatrixView<T> c, const Options& options = {});

extern template Outcome multiply(ConstMatrixView<float>, ConstMatrixView<float>, MatrixView<float>,
                                 const Options&);
extern template Outcome multiply(ConstMatrixView<double>, ConstMatrixView<double>, MatrixView<double>,
                                 const Options&);
extern template Outcome multiply(ConstMatrixView<std::int32_t>, ConstMatrixView<std::int32_t>,
                                 MatrixView<std::int32_t>, const Options&);

}  // namespace tessera::matmul
