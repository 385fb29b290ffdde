// SPDX-License-Identifier: Apache-2.0
// The public calls of the product, of matrices in host memory (multiply) or in a GPU's memory, in stream
// order (enqueue): C = convert(activation(α·s_a[i]·s_b[j]·op(A)·op(B) + β·C + bias)).
#pragma once
#include <cstdint>
#include <memory>
#include "ops/matmul/gemm/product_options.hpp"
#include "tessera/run/enqueue.hpp"
#include "tessera/run/run.hpp"

namespace tessera::matmul {
namespace detail {

Outcome multiply(const AnyMatrix& a, const AnyMatrix& b, const AnyMatrix& c, const Options& options);

}  // namespace detail

// A is m × k, or k × m if transposed; B is k × n or n × k; C is m × n and overlaps neither (all may be
// submatrices of one matrix). The Outcome has the plan, the time and, with `check`, the verdict.
//
// T, Out and TB, the types of A, C and B: float, double, std::int32_t (which wraps modulo 2^32, and needs
// integer α and β) to the same type; bf16 and f16 to bf16, f16 or float; e4m3 and e5m2, in any mix, to bf16,
// f16 or float; std::int8_t to std::int32_t, std::int8_t or float. double and std::int32_t do not support
// scales, and std::int32_t no activation except relu.
//
// A thread caches the plans of its last products on the CPU, unless Options name a variant or a tuning, or
// request an accuracy or a check. A call that repeats one, even with other addresses, does not look up
// results of `tune`; its Outcome's device has no name, and below 96³ multiply-adds the time is not measured.
//
// Throws Error of kind user if shapes do not fit ("B has k = 33, but A has 65"), a leading dimension
// is smaller than the row, the combination of elements is not supported, C overlaps A or B, data is not
// aligned to its elements, a variant is unknown or refuses; no_device if the device cannot be used.
template <class T, class Out = T, class TB = T>
Outcome multiply(ConstMatrixView<T> a, ConstMatrixView<TB> b, MatrixView<Out> c,
                 const Options& options = {}) {
  return detail::multiply(detail::any(a), detail::any(b), detail::any(c), options);
}

namespace detail {

// Prepared without its template arguments.
class PreparedProduct {
 public:
  PreparedProduct(const AnyMatrix& a, const AnyMatrix& b, const AnyMatrix& c, const Options& options);

  void enqueue(void* stream, const void* a, const void* b, void* c, const Workspace& workspace) const;
  [[nodiscard]] std::size_t workspace_bytes() const;
  const Plan& plan() const;

  struct State;

 private:
  std::shared_ptr<const State> state_;
};

[[nodiscard]] std::size_t workspace_bytes(const AnyMatrix& a, const AnyMatrix& b, const AnyMatrix& c,
                                          const Options& options);
const Plan& enqueue(void* stream, const AnyMatrix& a, const AnyMatrix& b, const AnyMatrix& c,
                    const Options& options, const Workspace& workspace);

}  // namespace detail

// Enqueues the product that multiply() computes on a stream (a cudaStream_t, null for the default one), for
// data in the memory of one GPU. The call is asynchronous, copies nothing from or to the host, and allocates
// no memory when calls repeat, so a CUDA graph may capture it. β·C is added in place. Returns the plan that
// multiply() would choose, by results of `tune` or the sizes; empty if C has no elements. The plan is valid
// until the thread's next call. A thread caches the plans of its last calls that name neither variant nor
// tuning.
//
// Without a workspace from the caller, a stream keeps what its products need, up to 64 MiB, and a captured
// graph has its own: two executable copies of one graph must not run at the same time.
//
// The bits are those of multiply() if the arrays have the layout that it would give them: addresses that are
// multiples of 128 bytes, contiguous lines (or padded ones, if lines with and without padding start at
// multiples of 128 bytes), row-major C. Otherwise the plan, and so the order of a sum, may differ; each call
// repeats its own bits from run to run. The matrices may also be in host memory: then the stream is null, and
// the call returns when the work is done.
//
// Throws like multiply(), and if a pointer is to other memory, the stream belongs to another GPU, the
// workspace is smaller than workspace_bytes(), or Options request a check.
template <class T, class Out = T, class TB = T>
const Plan& enqueue(void* stream, ConstMatrixView<T> a, ConstMatrixView<TB> b, MatrixView<Out> c,
                    const Options& options = {}, const Workspace& workspace = {}) {
  return detail::enqueue(stream, detail::any(a), detail::any(b), detail::any(c), options, workspace);
}

// Returns the bytes of workspace that the same call of enqueue() needs from the caller.
template <class T, class Out = T, class TB = T>
[[nodiscard]] std::size_t workspace_bytes(ConstMatrixView<T> a, ConstMatrixView<TB> b, MatrixView<Out> c,
                                          const Options& options = {}) {
  return detail::workspace_bytes(detail::any(a), detail::any(b), detail::any(c), options);
}

// A product that runs many times: planned once, from sizes, layouts, alignment and Options. enqueue() then
// only takes addresses and launches.
//
//   const matmul::Prepared<bf16> product(a, b, c);
//   for (…) product.enqueue(stream, a_data, b_data, c_data);
//
// The views' addresses determine the device and, on a GPU, the alignment of later addresses: each must be a
// multiple of the same power of two, up to 128. They are not kept; those of C0, bias and scales are. With β ≠
// 0 and no C0, C is added in place. Copyable, and may be called by several threads concurrently.
template <class T, class Out = T, class TB = T>
class Prepared {
 public:
  // Throws like matmul::enqueue().
  Prepared(ConstMatrixView<T> a, ConstMatrixView<TB> b, MatrixView<Out> c, const Options& options = {})
      : product_(detail::any(a), detail::any(b), detail::any(c), options) {}

  // Like matmul::enqueue(), for data in the same device's memory; C overlaps neither A nor B. Only alignment
  // and the size of the workspace are checked.
  void enqueue(void* stream, const T* a, const TB* b, Out* c, const Workspace& workspace = {}) const {
    product_.enqueue(stream, a, b, c, workspace);
  }
  [[nodiscard]] std::size_t workspace_bytes() const { return product_.workspace_bytes(); }
  const Plan& plan() const { return product_.plan(); }

 private:
  detail::PreparedProduct product_;
};

// An f32 matrix in a Hopper GPU's memory that is multiplied many times, such as weights: the parts that
// tf32x3, bf16x6 or f16x3 multiply are computed once, in stream order. During its lifetime, all products of
// that arithmetic whose B is this matrix (its address, sizes and layout) use them; so the matrix must not
// move or change, as strict f32 may still be computed from it. Products in other streams must be ordered
// after it.
//
//   const matmul::PackedOperand weights(stream, b, matmul::Compute::f16x3);
//   for (…) matmul::enqueue(stream, a, b, c, {.compute = matmul::Compute::f16x3});
class PackedOperand {
 public:
  // `transposed`: see Options::transpose_b. To pack an A, pass it as the B of the transposed product:
  // `transposed` is then !Options::transpose_a. Throws Error of kind no_device if there is no such GPU.
  PackedOperand(void* stream, ConstMatrixView<float> b, Compute compute, bool transposed = false);

  std::size_t bytes() const;  // in the GPU's memory

 private:
  struct State;
  std::shared_ptr<const State> state_;
};

}  // namespace tessera::matmul
