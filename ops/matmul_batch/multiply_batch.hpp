// SPDX-License-Identifier: Apache-2.0
// Many products in one call for programs, of matrices in host memory (multiply_batch) or in a GPU's memory,
// in stream order (enqueue): each C[e] as matmul::multiply has it. Installed: for programs.
#pragma once
#include "../matmul/problem/multiply.hpp"
#include "tessera/run/enqueue.hpp"

namespace tessera::matmul_batch {

using matmul::Accumulate;
using matmul::Activation;
using matmul::Compute;
using matmul::ConstMatrixView;
using matmul::MatrixView;
using matmul::Options;
using matmul::Order;

// Matrices of one size, each row after row or column after column.
template <class T>
struct BatchView {
  T* data = nullptr;
  std::int64_t count = 0, rows = 0, cols = 0;
  std::int64_t leading_dimension = 0;  // from one row (column) to the next, in elements; 0: one after another
  std::int64_t step = 0;               // from one matrix to the next; 0: as far as one reaches
  Order order = Order::rows;
};
template <class T>
using ConstBatchView = BatchView<const T>;

namespace detail {

// A BatchView without its type.
struct AnyBatch {
  matmul::detail::AnyMatrix first;
  std::int64_t count, step;
};

template <class T>
AnyBatch any(const BatchView<T>& x) {
  return {matmul::detail::any(MatrixView<T>{x.data, x.rows, x.cols, x.leading_dimension, x.order}), x.count,
          x.step};
}

Outcome multiply_batch(const AnyBatch& a, const AnyBatch& b, const AnyBatch& c, const Options& options);

}  // namespace detail

// Entry e of C from entry e of A and of B; an A or B of one matrix serves all entries, and so do scales, bias
// and C0 whose step says so. The entries of C lie apart from each other and from A and B. Whatever the batch,
// an entry's bits are those that it has alone on the same variant. T, Out, TB: those of matmul::multiply.
//
// Throws as matmul::multiply does, and where a step is negative or too small.
template <class T, class Out = T, class TB = T>
Outcome multiply_batch(ConstBatchView<T> a, ConstBatchView<TB> b, BatchView<Out> c,
                       const Options& options = {}) {
  return detail::multiply_batch(detail::any(a), detail::any(b), detail::any(c), options);
}

namespace detail {
std::size_t workspace_bytes(const AnyBatch& a, const AnyBatch& b, const AnyBatch& c, const Options& options);
Plan enqueue(void* stream, const AnyBatch& a, const AnyBatch& b, const AnyBatch& c, const Options& options,
             const Workspace& workspace);
}  // namespace detail

// As multiply_batch() has it, on what matmul::enqueue() says of memory, bits, stream, workspace and
// Options.
template <class T, class Out = T, class TB = T>
Plan enqueue(void* stream, ConstBatchView<T> a, ConstBatchView<TB> b, BatchView<Out> c,
             const Options& options = {}, const Workspace& workspace = {}) {
  return detail::enqueue(stream, detail::any(a), detail::any(b), detail::any(c), options, workspace);
}

// What the same call needs of a workspace of the caller's.
template <class T, class Out = T, class TB = T>
std::size_t workspace_bytes(ConstBatchView<T> a, ConstBatchView<TB> b, BatchView<Out> c,
                            const Options& options = {}) {
  return detail::workspace_bytes(detail::any(a), detail::any(b), detail::any(c), options);
}

}  // namespace tessera::matmul_batch
