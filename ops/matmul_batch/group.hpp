// SPDX-License-Identifier: Apache-2.0
// Products of unequal sizes in one call for programs, and products whose matrices lie anywhere.
// Installed: for programs.
#pragma once
#include <span>
#include <type_traits>
#include <vector>
#include "ops/matmul_batch/multiply.hpp"

namespace tessera::matmul_batch {

// C = α·op(A)·op(B) + β·C, as matmul::multiply has it.
template <class T, class Out = T>
struct Product {
  ConstMatrixView<T> a, b;
  MatrixView<Out> c;
};

struct GroupOutcome {
  std::string how;                  // "cluster, one launch"
  double seconds = 0;               // on the device
  std::optional<bool> passed = {};  // with Options::check: whether every product is right …
  std::string wrong = {};           // … and what is not, of the first that is wrong
};

// All of them, with the same options. On the processors each core takes one after another; on a GPU whose
// tensor cores serve the elements they are one launch, else one after another, as they are where Options asks
// for a variant of the single product. "auto" is the device that the product of the most arithmetic would
// take. No two C may overlap. A product's bits do not depend on the others. T, Out: those of multiply_batch.
//
// Throws as matmul::multiply does, with the number of the product.
template <class T, class Out = T>
GroupOutcome multiply_group(std::span<const std::type_identity_t<Product<T, Out>>> products,
                            const Options& options = {});

// Products of one size by the addresses of their matrices.
struct PointerShape {
  std::int64_t m = 0, n = 0, k = 0;
  std::int64_t lda = 0, ldb = 0, ldc = 0;  // 0: rows lie one after another
};
template <class T, class Out = T>
GroupOutcome multiply_pointers(std::span<const std::type_identity_t<T>* const> a,
                               std::span<const std::type_identity_t<T>* const> b,
                               std::span<std::type_identity_t<Out>* const> c, const PointerShape& shape,
                               const Options& options = {}) {
  if (a.size() != c.size() || b.size() != c.size())
    throw Error("there are " + std::to_string(a.size()) + " A, " + std::to_string(b.size()) + " B and " +
                std::to_string(c.size()) + " C");
  const bool turned_a = options.transpose_a, turned_b = options.transpose_b;
  std::vector<Product<T, Out>> all;
  for (std::size_t i = 0; i < c.size(); ++i)
    all.push_back({{a[i], turned_a ? shape.k : shape.m, turned_a ? shape.m : shape.k, shape.lda},
                   {b[i], turned_b ? shape.n : shape.k, turned_b ? shape.k : shape.n, shape.ldb},
                   {c[i], shape.m, shape.n, shape.ldc}});
  return multiply_group<T, Out>(all, options);
}

extern template GroupOutcome multiply_group<float, float>(std::span<const Product<float, float>>,
                                                          const Options&);
extern template GroupOutcome multiply_group<double, double>(std::span<const Product<double, double>>,
                                                            const Options&);
extern template GroupOutcome multiply_group<std::int32_t, std::int32_t>(
    std::span<const Product<std::int32_t, std::int32_t>>, const Options&);
extern template GroupOutcome multiply_group<bf16, bf16>(std::span<const Product<bf16, bf16>>, const Options&);
extern template GroupOutcome multiply_group<bf16, float>(std::span<const Product<bf16, float>>,
                                                         const Options&);
extern template GroupOutcome multiply_group<f16, f16>(std::span<const Product<f16, f16>>, const Options&);
extern template GroupOutcome multiply_group<f16, float>(std::span<const Product<f16, float>>, const Options&);
extern template GroupOutcome multiply_group<std::int8_t, std::int32_t>(
    std::span<const Product<std::int8_t, std::int32_t>>, const Options&);

}  // namespace tessera::matmul_batch
