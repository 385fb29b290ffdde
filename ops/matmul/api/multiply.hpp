// SPDX-License-Identifier: Apache-2.0
// The product for programs, of matrices in host memory (multiply) or in a GPU's memory, in stream order
// (enqueue): C = convert(activation(α·s_a[i]·s_b[j]·op(A)·op(B) + β·C + bias)).
// Installed: for programs.
#pragma once
#include <cstdint>
#include <memory>
#include "../gemm/product_options.hpp"
#include "tessera/run/enqueue.hpp"
#include "tessera/run/run.hpp"

namespace tessera::matmul {
namespace detail {

Outcome multiply(const AnyMatrix& a, const AnyMatrix& b, const AnyMatrix& c, const Options& options);

}  // namespace detail

// A is m × k, or k × m where it is transposed; B is k × n or n × k; C is m × n and lies apart from both
// (parts of one matrix may lie side by side). The
// Outcome says what ran where, how long it took and, with `check`, whether the result is right.
//
// T, Out and TB, the types of A, C and B: float, double, std::int32_t (which wraps modulo 2^32, and wants
// whole α and β) to their own; bf16 and f16 to either of both or float; e4m3 and e5m2, in any mix, to bf16,
// f16 or float; std::int8_t to std::int32_t, std::int8_t or float. double takes no scales, std::int32_t none
// and of activations relu.
//
// A thread remembers the plans of its last products on processors, unless Options name a variant or a tuning,
// ask for an accuracy or for a check. A call that repeats one, with other addresses perhaps, looks up no
// findings of `tune`; its Outcome's device has no name, and below 96³ multiply-adds no time is taken.
//
// Throws Error of kind user where shapes do not fit ("B has k = 33, but A has 65"), a leading dimension
// is smaller than the row, elements do not go together, C overlaps A or B, data is not aligned to its
// elements, a variant is unknown or refuses; no_device where the device cannot be used.
template <class T, class Out = T, class TB = T>
Outcome multiply(ConstMatrixView<T> a, ConstMatrixView<TB> b, MatrixView<Out> c,
                 const Options& options = {}) {
  return detail::multiply(detail::any(a), detail::any(b), detail::any(c), options);
}

namespace detail {

// A Prepared without its types.
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

// As multiply() has it, but all that is pointed to lies in the memory of one GPU, where the
// work is done after whatever the stream (a cudaStream_t, null for the default one) holds already; C is there
// once the stream has come so far. Nothing waits, nothing is copied from or to the host, and no memory is
// allocated once calls repeat themselves, so a CUDA graph may capture the call. β·C is added in place.
// Returns what was chosen, as multiply() would: by `tune`'s findings or the sizes; a C without elements
// leaves it empty. It is valid until the thread's next call. A thread remembers the plans of its last calls
// that name neither variant nor tuning.
//
// Without a workspace of the caller's, a stream keeps what its products need, up to 64 MiB, and a captured
// graph has its own: two executable copies of one graph must not run at the same time.
//
// The bits are multiply()'s where the arrays lie as it would place them: addresses multiples of 128 bytes, no
// gaps between lines (or gaps with which, as without, lines begin at multiples of 128 bytes), C's rows one
// after another. Else the plan, and so the order of a sum, may be another; each call repeats its own bits
// from run to run. The matrices may also lie in host memory: the stream is null then, and the work done on
// return.
//
// Throws as multiply() does, and where something lies elsewhere, the stream is another GPU's, the workspace
// is smaller than workspace_bytes() says, or Options ask for a check.
template <class T, class Out = T, class TB = T>
const Plan& enqueue(void* stream, ConstMatrixView<T> a, ConstMatrixView<TB> b, MatrixView<Out> c,
                    const Options& options = {}, const Workspace& workspace = {}) {
  return detail::enqueue(stream, detail::any(a), detail::any(b), detail::any(c), options, workspace);
}

// What the same call needs of a workspace of the caller's.
template <class T, class Out = T, class TB = T>
[[nodiscard]] std::size_t workspace_bytes(ConstMatrixView<T> a, ConstMatrixView<TB> b, MatrixView<Out> c,
                                          const Options& options = {}) {
  return detail::workspace_bytes(detail::any(a), detail::any(b), detail::any(c), options);
}

// A product that is made many times: planned once, from sizes, layouts, alignment and Options. enqueue() then
// takes addresses and launches.
//
//   const matmul::Prepared<bf16> product(a, b, c);
//   for (…) product.enqueue(stream, a_data, b_data, c_data);
//
// The views' addresses say on which device the product runs and, of a GPU, how later ones are aligned: each
// must be a multiple of the same power of two, of 128 at most. They are not kept; those of C0, bias and
// scales are. With β ≠ 0 and no C0, C is added in place. May be copied, and called by several threads at
// once.
template <class T, class Out = T, class TB = T>
class Prepared {
 public:
  // Throws as matmul::enqueue() does.
  Prepared(ConstMatrixView<T> a, ConstMatrixView<TB> b, MatrixView<Out> c, const Options& options = {})
      : product_(detail::any(a), detail::any(b), detail::any(c), options) {}

  // As matmul::enqueue() has it, for data in the same device's memory; C overlaps neither A nor B. That is
  // not checked; alignment is, and the size of a workspace.
  void enqueue(void* stream, const T* a, const TB* b, Out* c, const Workspace& workspace = {}) const {
    product_.enqueue(stream, a, b, c, workspace);
  }
  [[nodiscard]] std::size_t workspace_bytes() const { return product_.workspace_bytes(); }
  const Plan& plan() const { return product_.plan(); }

 private:
  detail::PreparedProduct product_;
};

// An f32 matrix in a Hopper GPU's memory that is multiplied many times, such as weights: the parts that
// tf32x3, bf16x6 or f16x3 multiply are made once, in the order of the stream. While it lives, products of
// that arithmetic whose B is this matrix (its address, sizes and layout) take them, whoever calls; so the
// matrix stays where it is and keeps its values, which strict f32 may still be computed from. Products in
// other streams must come after it.
//
//   const matmul::PackedOperand weights(stream, b, matmul::Compute::f16x3);
//   for (…) matmul::enqueue(stream, a, b, c, {.compute = matmul::Compute::f16x3});
class PackedOperand {
 public:
  // `transposed`: as Options::transpose_b. An A serves as the B of the transposed product: then `transposed`
  // is what Options::transpose_a is not. Throws Error of kind no_device where there is no such GPU.
  PackedOperand(void* stream, ConstMatrixView<float> b, Compute compute, bool transposed = false);

  std::size_t bytes() const;  // of the GPU's memory

 private:
  struct State;
  std::shared_ptr<const State> state_;
};

}  // namespace tessera::matmul
