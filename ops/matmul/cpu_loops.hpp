// SPDX-License-Identifier: Apache-2.0
// What the loops of the serial CPU rungs share.
#pragma once
#include <cstdint>
#include <type_traits>
#include <vector>
#include "matmul.hpp"

namespace tessera::matmul {

// sum + a·b in two roundings: without instructions of one CPU, a fused one would be a function call
// for each product. Integers wrap.
template <class T>
inline T plus_product(T sum, T a, T b) {
  if constexpr (std::is_integral_v<T>) return multiply_add(a, b, sum);
  else return sum + a * b;
}

// sums[0, n) += a · row[0, n). A row of step 1 lets the compiler use its vectors.
template <class T>
inline void add_multiple(T* sums, T a, const T* row, std::int64_t step, std::int64_t n) {
  if (step == 1)
    for (std::int64_t j = 0; j < n; ++j) sums[j] = plus_product(sums[j], a, row[j]);
  else
    for (std::int64_t j = 0; j < n; ++j) sums[j] = plus_product(sums[j], a, row[j * step]);
}

}  // namespace tessera::matmul
