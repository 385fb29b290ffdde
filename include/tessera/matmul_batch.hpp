// SPDX-License-Identifier: Apache-2.0
// Many products in one call for programs, of matrices in host memory (multiply_batch) or in a GPU's memory,
// in stream order (enqueue): each C[e] is that of matmul::multiply. Then groups: products of unequal sizes,
// or of matrices at any addresses.
#pragma once
#include <span>
#include <type_traits>
#include <vector>
#include "tessera/matmul.hpp"
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
  std::int64_t leading_dimension = 0;  // from one row (column) to the next, in elements; 0: no gaps
  std::int64_t step = 0;               // from one matrix to the next; 0: no gaps
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
// and C0 whose step says so. The entries of C must not overlap each other, A or B. An entry is bitwise
// identical to its product alone on the same variant, in any batch. T, Out, TB: those of matmul::multiply.
//
// Throws as matmul::multiply does, and if a step is negative or too small.
template <class T, class Out = T, class TB = T>
Outcome multiply_batch(ConstBatchView<T> a, ConstBatchView<TB> b, BatchView<Out> c,
                       const Options& options = {}) {
  return detail::multiply_batch(detail::any(a), detail::any(b), detail::any(c), options);
}

namespace detail {
[[nodiscard]] std::size_t workspace_bytes(const AnyBatch& a, const AnyBatch& b, const AnyBatch& c,
                                          const Options& options);
Plan enqueue(void* stream, const AnyBatch& a, const AnyBatch& b, const AnyBatch& c, const Options& options,
             const Workspace& workspace);
}  // namespace detail

// Enqueues multiply_batch(); matmul::enqueue() describes memory, results, stream, workspace and Options.
template <class T, class Out = T, class TB = T>
Plan enqueue(void* stream, ConstBatchView<T> a, ConstBatchView<TB> b, BatchView<Out> c,
             const Options& options = {}, const Workspace& workspace = {}) {
  return detail::enqueue(stream, detail::any(a), detail::any(b), detail::any(c), options, workspace);
}

// Returns the bytes that the same call needs in a workspace of the caller's.
template <class T, class Out = T, class TB = T>
[[nodiscard]] std::size_t workspace_bytes(ConstBatchView<T> a, ConstBatchView<TB> b, BatchView<Out> c,
                                          const Options& options = {}) {
  return detail::workspace_bytes(detail::any(a), detail::any(b), detail::any(c), options);
}

// One product of a group, as for matmul::multiply. The list of products, and the addresses in it, are in host
// memory and need not outlive the call.
template <class T, class Out = T, class TB = T>
struct Product {
  ConstMatrixView<T> a;
  ConstMatrixView<TB> b;
  MatrixView<Out> c;
  // The product's own vectors, if given; else those of Options, for product i at i·step elements.
  matmul::Scale scale_a = {}, scale_b = {};
  matmul::Bias bias = {};
};

struct GroupOutcome {
  std::string how;                  // "cluster, one launch"
  double seconds = 0;               // on the device
  std::optional<bool> passed = {};  // with Options::check: true if every product is right
  std::string wrong = {};           // the error of the first product that is wrong
};

namespace detail {

struct AnyProduct {
  matmul::detail::AnyMatrix a, b, c;
  matmul::Scale scale_a, scale_b;
  matmul::Bias bias;
};

template <class T, class Out, class TB>
std::vector<AnyProduct> any(std::span<const Product<T, Out, TB>> products) {
  std::vector<AnyProduct> out;
  for (const auto& p : products)
    out.push_back({matmul::detail::any(p.a), matmul::detail::any(p.b), matmul::detail::any(p.c), p.scale_a,
                   p.scale_b, p.bias});
  return out;
}

GroupOutcome multiply_group(std::span<const AnyProduct> products, const Options& options);

}  // namespace detail

// Computes all products with the same options. On CPUs each core takes one after another; on a GPU whose
// tensor cores serve the elements they are one launch, else one after another, as they are if Options
// requests a variant of the single product, or a tuning. "auto" is the device that the product of the most
// arithmetic would take. No C may share memory with another, nor with any operand, because they run at the
// same time. (Matrices may be interleaved row by row, as blocks of one matrix are.) A product's bits do not
// depend on the others. T, Out, TB: those of matmul::multiply. β multiplies C.
//
// Throws as matmul::multiply does, with the number of the product.
template <class T, class Out = T, class TB = T>
GroupOutcome multiply_group(std::span<const std::type_identity_t<Product<T, Out, TB>>> products,
                            const Options& options = {}) {
  return detail::multiply_group(detail::any(products), options);
}

// Products of one size by the addresses of their matrices.
struct PointerShape {
  std::int64_t m = 0, n = 0, k = 0;
  std::int64_t lda = 0, ldb = 0, ldc = 0;  // 0: no gaps between rows
};

template <class T, class Out = T, class TB = T>
[[nodiscard]] std::vector<Product<T, Out, TB>> products_at(std::span<const std::type_identity_t<T>* const> a,
                                                           std::span<const std::type_identity_t<TB>* const> b,
                                                           std::span<std::type_identity_t<Out>* const> c,
                                                           const PointerShape& shape,
                                                           const Options& options = {}) {
  if (a.size() != c.size() || b.size() != c.size())
    throw Error("there are " + std::to_string(a.size()) + " A, " + std::to_string(b.size()) + " B and " +
                std::to_string(c.size()) + " C");
  const bool transposed_a = options.transpose_a, transposed_b = options.transpose_b;
  std::vector<Product<T, Out, TB>> all;
  for (std::size_t i = 0; i < c.size(); ++i)
    all.push_back({{a[i], transposed_a ? shape.k : shape.m, transposed_a ? shape.m : shape.k, shape.lda},
                   {b[i], transposed_b ? shape.n : shape.k, transposed_b ? shape.k : shape.n, shape.ldb},
                   {c[i], shape.m, shape.n, shape.ldc}});
  return all;
}

template <class T, class Out = T, class TB = T>
GroupOutcome multiply_pointers(std::span<const std::type_identity_t<T>* const> a,
                               std::span<const std::type_identity_t<TB>* const> b,
                               std::span<std::type_identity_t<Out>* const> c, const PointerShape& shape,
                               const Options& options = {}) {
  return multiply_group<T, Out, TB>(products_at<T, Out, TB>(a, b, c, shape, options), options);
}

namespace detail {
[[nodiscard]] std::size_t group_workspace_bytes(std::span<const AnyProduct> products, const Options& options);
std::string enqueue_group(void* stream, std::span<const AnyProduct> products, const Options& options,
                          const Workspace& workspace);
}  // namespace detail

// Enqueues multiply_group(); matmul::enqueue() describes memory, results, stream, workspace and Options. A
// GPU whose tensor cores do not support the element types computes one product after another. Returns the
// method: "cluster, one launch". A graph that captures the call keeps the list with it.
template <class T, class Out = T, class TB = T>
std::string enqueue_group(void* stream, std::span<const std::type_identity_t<Product<T, Out, TB>>> products,
                          const Options& options = {}, const Workspace& workspace = {}) {
  return detail::enqueue_group(stream, detail::any(products), options, workspace);
}

// Returns the bytes that the same call needs in a workspace of the caller's.
template <class T, class Out = T, class TB = T>
[[nodiscard]] std::size_t group_workspace_bytes(
    std::span<const std::type_identity_t<Product<T, Out, TB>>> products, const Options& options = {}) {
  return detail::group_workspace_bytes(detail::any(products), options);
}

}  // namespace tessera::matmul_batch
