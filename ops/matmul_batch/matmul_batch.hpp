// SPDX-License-Identifier: Apache-2.0
// Many products of one size: C[e] = α·op(A[e])·op(B[e]) + β·C0[e]. Each entry is the single product's
// problem; an operand that serves all entries has a step of 0 between them.
#pragma once
#include <functional>
#include <span>
#include <string>
#include "../matmul/matmul.hpp"
#include "../matmul/gemm/gemm.hpp"
#include "tessera/core/operation/operation.hpp"
#include "tessera/core/operation/variant.hpp"

namespace tessera::matmul_batch {

inline namespace TESSERA_UNIT {

template <class T>
struct Problem {
  using Elements = typename matmul::Problem<T>::Elements;

  matmul::Problem<T> first;  // entry 0
  std::int64_t batch = 0;
  std::int64_t a_step = 0, b_step = 0, c0_step = 0, c_step = 0;  // from an entry to the next, in elements

  SIMT matmul::Problem<T> entry(std::int64_t e) const {
    matmul::Problem<T> out = first;
    out.a.data += e * a_step;
    out.b.data += e * b_step;
    if (out.c0.data != nullptr) out.c0.data += e * c0_step;
    out.c.data += e * c_step;
    return out;
  }

  static std::optional<std::string> unsupported_arguments(const Arguments& arguments) {
    return matmul::Problem<T>::unsupported_arguments(arguments);
  }

  static Problem of(const Arguments& arguments) {
    Problem p;
    p.first.alpha = matmul::Problem<T>::factor(arguments, "alpha");
    p.a_step = take(arguments.view<const T, 3>("A"), p.first.a);
    p.b_step = take(arguments.view<const T, 3>("B"), p.first.b);
    p.c_step = take(arguments.view<T, 3>("C"), p.first.c);
    p.c0_step = take(arguments.view<const T, 3>("C0"), p.first.c0);
    p.first.beta = p.first.c0.data != nullptr ? matmul::Problem<T>::factor(arguments, "beta") : T{0};
    if (p.first.alpha == T{0}) p.first.a.extent[1] = p.first.b.extent[0] = 0;
    p.batch = arguments.dim("batch");
    return p;
  }

 private:
  template <class U>
  static std::int64_t take(const View<U, 3>& from, Matrix<U>& to) {
    to = {from.data, {from.extent[1], from.extent[2]}, {from.stride[1], from.stride[2]}};
    return from.stride[0];
  }
};

}  // namespace TESSERA_UNIT

// A batch of MixedProblems: mixed precision, or an epilogue.
struct MixedBatch {
  matmul::MixedProblem first;
  std::int64_t batch = 0;
  std::int64_t a_step = 0, b_step = 0, c0_step = 0, c_step = 0, bias_step = 0, scale_a_step = 0,
               scale_b_step = 0;

  matmul::MixedProblem entry(std::int64_t e) const;
  static MixedBatch of(const Arguments& arguments);  // throws as MixedProblem::of does
};

Signature signature();

// Returns an entry of a batch as arguments of the single product, so that its reference, bound and inputs
// apply. Arrays whose address is null keep it.
Arguments entry_of(const Arguments& batch, std::int64_t entry);

// Computes a group: products of any sizes. On the CPU, an idle thread takes the next entry.
void compute_on_cpu(std::span<const matmul::Gemm> entries, int threads);

// Computes a group on a GPU in one launch.
struct GroupKernel {
  std::string name;
  std::function<Reason(std::span<const matmul::Gemm>, const Device&)> refuses;
  std::function<std::size_t(std::span<const matmul::Gemm>)> workspace_bytes;
  // Arrays and workspace are in device memory. Runs in stream order, without synchronizing.
  std::function<void(std::span<const matmul::Gemm>, Run&)> run;
};

const GroupKernel* group_kernel();  // null: this build has none
void register_group_kernel(GroupKernel kernel);

}  // namespace tessera::matmul_batch
