// SPDX-License-Identifier: Apache-2.0
// Products of small matrices, and of few rows or columns, on processors: loops that start at once, and such
// as read a large operand a single time. Each element has the bits that BlockProduct (simd-inl.h) gives it:
// its sum goes along k one fused multiply-add after another, in the same blocks.
#pragma once
#include "ops/matmul/kernels/cpu/simd.hpp"

namespace tessera::matmul {

// Computes the product where it is small, or of few rows or columns, and says whether it was. It allocates
// nothing once calls repeat themselves. The product's strides may be others afterwards, and its sides
// exchanged; it is not copied, since that takes longer than some of them. T: float or double.
template <class T>
bool multiply_small(Product<T>& product, int threads);

// What this thread keeps for copies of B.
Scratch& small_scratch();

// Where rows and columns are exchanged: Cᵀ = Bᵀ·Aᵀ.
template <class T>
Strided<T> exchanged(const Strided<T>& matrix) {
  return {matrix.data, matrix.col, matrix.row};
}
template <class T>
Product<T> exchanged(const Product<T>& p) {
  return {p.n,     p.m,    p.k,   exchanged(p.b), exchanged(p.a), exchanged(p.c0), exchanged(p.c),
          p.alpha, p.beta, p.adds};
}

}  // namespace tessera::matmul
