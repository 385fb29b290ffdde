// SPDX-License-Identifier: Apache-2.0
// Included by programs: products of matrices in host memory (multiply) or a GPU's, in stream order (enqueue):
// C = convert(activation(α·s_a[i]·s_b[j]·op(A)·op(B) + β·C0 + bias)); C0 is C unless Options::c0 is set.
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
// Types of A and B, and of C:
//   float, double, std::int32_t (modulo 2^32; integer α and β)  the same type
//   bf16; f16; e4m3 and e5m2, in any mix                        bf16, f16 or float
//   std::int8_t                                                 std::int32_t, std::int8_t or float
// double and std::int32_t do not support scales, and std::int32_t no activation except relu.
//
// A thread caches the plans of its last products on the CPU, unless Options name a variant or a tuning, or
// request an accuracy or a check; addresses do not matter. A cached call skips the lookup of `tune` results,
// leaves plan.device.name empty, and below 96³ multiply-adds does not measure time.
//
// Throws Error of kind user if shapes do not fit ("B has k = 33, but A has 65"), a leading dimension
// is smaller than the row, the combination of element types is not supported, C overlaps A or B, data is not
// aligned to its element type, a variant is unknown or refuses; no_device if the device cannot be used.
template <class T, class Out = T, class TB = T>
Outcome multiply(ConstMatrixView<T> a, ConstMatrixView<TB> b, MatrixView<Out> c,
                 const Options& options = {}) {
  return detail::multiply(detail::any(a), detail::any(b), detail::any(c), options);
}

namespace detail {

// Type-erased Prepared.
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

// Enqueues on a stream (a cudaStream_t, null for the default one) the product that multiply() would compute,
// for data in one GPU's memory. The call is asynchronous, copies nothing from or to the host, and allocates
// no memory when calls repeat, so a CUDA graph may capture it. β·C0 is added in place. Returns the plan that
// multiply() would choose, by results of `tune` or the sizes; empty if C has no elements. The reference is
// valid until the thread's next call. A thread caches the plans of its last calls that name neither a variant
// nor a tuning.
//
// Without a workspace from the caller, each stream keeps one of up to 64 MiB for its products, and a captured
// graph has its own, so two cudaGraphExec_t instantiated from one graph must not run at the same time.
//
// The result is bitwise identical to that of multiply() if the arrays have the layout that it would give
// them: addresses that are multiples of 128 bytes, a row-major C, rows (columns, if column-major) that are
// contiguous, or padded ones where both the padded and the unpadded pitch are multiples of 128 bytes.
// Otherwise the plan, and so the order of summation, may differ; the same call always gives the same result.
// The matrices may also be in host memory: then the stream is null, and the call returns when the work is
// done.
//
// Throws like multiply(), and if a pointer points to any other memory, the stream belongs to another GPU, the
// workspace is smaller than workspace_bytes(), or Options request a check.
template <class T, class Out = T, class TB = T>
const Plan& enqueue(void* stream, ConstMatrixView<T> a, ConstMatrixView<TB> b, MatrixView<Out> c,
                    const Options& options = {}, const Workspace& workspace = {}) {
  return detail::enqueue(stream, detail::any(a), detail::any(b), detail::any(c), options, workspace);
}

// Returns the size in bytes of the workspace that the caller may pass to the same call of enqueue().
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
// The views' addresses determine the device; on a GPU, later addresses must be at least as aligned as these
// were (up to 128 bytes). They are not kept; those of Options::c0, bias and scales are. β·C0 is added in
// place. Copyable, and may be called by several threads concurrently.
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

// An f32 matrix in a Hopper GPU's memory that is multiplied many times, such as weights. Decomposes the
// matrix once, in stream order. While this object lives, products by tf32x3, bf16x6 or f16x3 (its `compute`)
// whose B has this address, size and layout use the decomposition. The original must stay in place and
// unchanged, because a fallback to bf16x6 or strict f32 reads it. Products in other streams must be ordered
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
