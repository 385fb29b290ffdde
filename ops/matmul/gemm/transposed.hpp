// SPDX-License-Identifier: Apache-2.0
// The transposed product.
#pragma once
#include <utility>
#include "ops/matmul/matmul.hpp"

namespace tessera::matmul {

// Returns Cᵀ = Bᵀ·Aᵀ.
template <class T>
Problem<T> transposed(const Problem<T>& p) {
  const auto exchanged = [](auto matrix) {
    std::swap(matrix.extent[0], matrix.extent[1]);
    std::swap(matrix.stride[0], matrix.stride[1]);
    return matrix;
  };
  Problem<T> out = p;
  out.a = exchanged(p.b);
  out.b = exchanged(p.a);
  out.c = exchanged(p.c);
  out.c0 = exchanged(p.c0);
  return out;
}

}  // namespace tessera::matmul
