// SPDX-License-Identifier: Apache-2.0
// Products of small matrices, and of few rows or columns, on CPUs: loops that start at once, and loops that
// read a large operand only once. Each element is bitwise identical to BlockProduct's (simd-inl.h): its sum
// goes along k, one fused multiply-add after another, in the same blocks.
#pragma once
#include "ops/matmul/kernels/cpu/simd.hpp"

namespace tessera::matmul {

// Computes the product if it is small, or has few rows or columns; returns true if it did. Repeated calls
// allocate nothing. The product's strides may be changed and its sides exchanged; it is not copied, because
// that takes longer than some products. T: float or double.
template <class T>
bool multiply_small(Product<T>& product, int threads);

// Returns this thread's memory for copies of B.
Scratch& small_scratch();

// Returns the transposed problem: Cᵀ = Bᵀ·Aᵀ.
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
