// SPDX-License-Identifier: Apache-2.0
// The product by three loops on one thread, of any element: each element of C is a row of A times a column of
// B.
#pragma once
#include "cpu_loops.hpp"
#include "elements.hpp"
#include "epilogue.hpp"
#include "low_operands.hpp"
#include "tessera/core/interrupt.hpp"
#include "widened.hpp"

namespace tessera::matmul {

template <class T>
void naive(const Problem<T>& p) {
  if (p.m() == 0 || p.n() == 0) return;
  for (std::int64_t i = 0; i < p.m(); ++i) {
    leave_if_interrupted();
    for (std::int64_t j = 0; j < p.n(); ++j) {
      T sum = 0;
      for (std::int64_t l = 0; l < p.k(); ++l) sum = plus_product(sum, p.a(i, l), p.b(l, j));
      p.store(i, j, sum);
    }
  }
}

// Factors of few bits: sums in f32, those of i8 in i32; then all that follows the sum.
inline void naive_low(const LowProblem& p) {
  if (p.m == 0 || p.n == 0) return;
  const Epilogue epilogue(p);
  with_factors(p, [&](const auto& a, const auto& b) {
    using A = std::remove_cvref_t<decltype(*a.data)>;
    using Sum = std::conditional_t<std::is_same_v<A, std::int8_t>, std::int32_t, float>;
    for (std::int64_t i = 0; i < p.m; ++i) {
      leave_if_interrupted();
      for (std::int64_t j = 0; j < p.n; ++j) {
        Sum sum = 0;
        for (std::int64_t l = 0; l < p.k; ++l)
          sum = plus_product(sum, static_cast<Sum>(widened(a(i, l))), static_cast<Sum>(widened(b(l, j))));
        epilogue.store(i, j, sum);
      }
    }
  });
}

}  // namespace tessera::matmul
