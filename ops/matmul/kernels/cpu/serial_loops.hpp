// SPDX-License-Identifier: Apache-2.0
// The product by three loops on one thread, for any element, and the helpers that the serial CPU rungs share.
#pragma once
#include <cstdint>
#include <type_traits>
#include <vector>
#include "ops/matmul/epilogue/epilogue.hpp"
#include "ops/matmul/matmul.hpp"
#include "ops/matmul/gemm/operands.hpp"
#include "tessera/rung.hpp"

namespace tessera::matmul {

// Returns sum + a·b with two roundings: without instructions of a specific CPU, a fused multiply-add would be
// a function call. Integers wrap.
template <class T>
inline T plus_product(T sum, T a, T b) {
  if constexpr (std::is_integral_v<T>) return multiply_add(a, b, sum);
  else return sum + a * b;
}

// Adds a · row[0, n) to sums[0, n). A row of stride 1 lets the compiler vectorize.
template <class T>
inline void add_multiple(T* sums, T a, const T* row, std::int64_t step, std::int64_t n) {
  if (step == 1)
    for (std::int64_t j = 0; j < n; ++j) sums[j] = plus_product(sums[j], a, row[j]);
  else
    for (std::int64_t j = 0; j < n; ++j) sums[j] = plus_product(sums[j], a, row[j * step]);
}

// Computes the product by three loops on one thread, for any element type: each element of C is a row of A
// times a column of B.

template <class T>
void naive(const Problem<T>& p) {
  if (p.m() == 0 || p.n() == 0) return;
  for (std::int64_t i = 0; i < p.m(); ++i) {
    for (std::int64_t j = 0; j < p.n(); ++j) {
      T sum = 0;
      for (std::int64_t l = 0; l < p.k(); ++l) sum = plus_product(sum, p.a(i, l), p.b(l, j));
      p.store(i, j, sum);
    }
  }
}

// Computes a product of mixed precision: sums in f32, those of i8 in i32, then applies the epilogue.
inline void naive_mixed(const MixedProblem& p) {
  if (p.m == 0 || p.n == 0) return;
  const Epilogue epilogue(p);
  with_factors(p, [&](const auto& a, const auto& b) {
    using A = std::remove_cvref_t<decltype(*a.data)>;
    using Sum = std::conditional_t<std::is_same_v<A, std::int8_t>, std::int32_t, float>;
    for (std::int64_t i = 0; i < p.m; ++i) {
      for (std::int64_t j = 0; j < p.n; ++j) {
        Sum sum = 0;
        for (std::int64_t l = 0; l < p.k; ++l)
          sum = plus_product(sum, static_cast<Sum>(widened(a(i, l))), static_cast<Sum>(widened(b(l, j))));
        epilogue.store(i, j, sum);
      }
    }
  });
}

// Returns the choice of the serial rungs for all their elements: plain products by `plain(problem)`, others
// by `mixed(Mixed)`.
template <template <class> class AnyProblem, class Mixed, class PlainRun, class MixedRun>
Choice serial_choice(const PlainRun& plain, const MixedRun& mixed) {
  Choice out = choice_of<AnyProblem>([plain](const auto& p, const Tuning&, Run&) { plain(p); });
  for (const Element element :
       {Element::bf16, Element::f16, Element::e4m3, Element::e5m2, Element::i8, Element::f32})
    out.prepare[element] = without_plan([plain, mixed](const Arguments& arguments, const Tuning&, Run&) {
      if (is_plain(arguments)) plain(AnyProblem<float>::of(arguments));
      else mixed(Mixed::of(arguments));
    });
  out.unsupported_arguments = [held = out.unsupported_arguments](const Arguments& arguments) -> Reason {
    if (!has_mixed_problem(arguments.element())) return held(arguments);
    (void)Mixed::of(arguments);  // throws if there is no such product
    return std::nullopt;
  };
  return out;
}

}  // namespace tessera::matmul
