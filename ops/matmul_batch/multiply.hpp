// SPDX-License-Identifier: Apache-2.0
// Many products in one call for programs: C[e] = α·op(A[e])·op(B[e]) + β·C[e], over matrices in the caller's
// memory. Installed: for programs.
#pragma once
#include "ops/matmul/multiply.hpp"

namespace tessera::matmul_batch {

using matmul::ConstMatrixView;
using matmul::MatrixView;
using matmul::Options;

// Matrices of one size in host memory, each row after row.
template <class T>
struct BatchView {
  T* data = nullptr;
  std::int64_t count = 0, rows = 0, cols = 0;
  std::int64_t leading_dimension = 0;  // from one row to the next, in elements; 0: cols
  std::int64_t step = 0;               // from one matrix to the next; 0: as far as one reaches
};
template <class T>
using ConstBatchView = BatchView<const T>;

// Entry e of C from entry e of A and of B; an A or B of one matrix serves all entries. The entries of C lie
// apart from each other and from A and B. Whatever the batch, an entry's bits are those that it has alone on
// the same variant. T, Out: f32, f64 and i32 to their own; bf16 and f16 to their own or float; i8 to i32.
//
// Throws as matmul::multiply does, and where a step is negative or too small.
template <class T, class Out = T>
Outcome multiply_batch(ConstBatchView<T> a, ConstBatchView<T> b, BatchView<Out> c,
                       const Options& options = {});

extern template Outcome multiply_batch(ConstBatchView<float>, ConstBatchView<float>, BatchView<float>,
                                       const Options&);
extern template Outcome multiply_batch(ConstBatchView<double>, ConstBatchView<double>, BatchView<double>,
                                       const Options&);
extern template Outcome multiply_batch(ConstBatchView<std::int32_t>, ConstBatchView<std::int32_t>,
                                       BatchView<std::int32_t>, const Options&);
extern template Outcome multiply_batch(ConstBatchView<bf16>, ConstBatchView<bf16>, BatchView<bf16>,
                                       const Options&);
extern template Outcome multiply_batch(ConstBatchView<bf16>, ConstBatchView<bf16>, BatchView<float>,
                                       const Options&);
extern template Outcome multiply_batch(ConstBatchView<f16>, ConstBatchView<f16>, BatchView<f16>,
                                       const Options&);
extern template Outcome multiply_batch(ConstBatchView<f16>, ConstBatchView<f16>, BatchView<float>,
                                       const Options&);
extern template Outcome multiply_batch(ConstBatchView<std::int8_t>, ConstBatchView<std::int8_t>,
                                       BatchView<std::int32_t>, const Options&);

}  // namespace tessera::matmul_batch
