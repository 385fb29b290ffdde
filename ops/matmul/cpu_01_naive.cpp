// SPDX-License-Identifier: Apache-2.0
// CPU rung 1: three loops, one thread: each element of C is a row of A times a column of B.
//
// The serial baseline that every other rung is measured against. The sum runs in the order of k,
// rounding each product and each sum. Stepping down a column of B touches a new cache line for every
// element, which is what the next rung mends.
#include "cpu_loops.hpp"
#include "elements.hpp"
#include "epilogue.hpp"
#include "low_operands.hpp"
#include "tessera/rung.hpp"
#include "widened.hpp"

namespace tessera::matmul {
namespace {

template <class T>
void naive(const Problem<T>& p) {
  for (std::int64_t i = 0; i < p.m(); ++i)
    for (std::int64_t j = 0; j < p.n(); ++j) {
      T sum = 0;
      for (std::int64_t l = 0; l < p.k(); ++l) sum = plus_product(sum, p.a(i, l), p.b(l, j));
      p.store(i, j, sum);
    }
}

// Factors of few bits: sums in f32, those of i8 in i32; then all that follows the sum.
void naive_low(const LowProblem& p) {
  const Epilogue epilogue(p);
  with_factors(p, [&](const auto& a, const auto& b) {
    using A = std::remove_cvref_t<decltype(*a.data)>;
    using Sum = std::conditional_t<std::is_same_v<A, std::int8_t>, std::int32_t, float>;
    for (std::int64_t i = 0; i < p.m; ++i)
      for (std::int64_t j = 0; j < p.n; ++j) {
        Sum sum = 0;
        for (std::int64_t l = 0; l < p.k; ++l)
          sum = plus_product(sum, static_cast<Sum>(widened(a(i, l))), static_cast<Sum>(widened(b(l, j))));
        epilogue.store(i, j, sum);
      }
  });
}

Choice for_all_elements() {
  Choice out = choice_of<Problem>([](const auto& p, const Tuning&, Run&) { naive(p); });
  const auto plain_f32 = out.run.at(Element::f32);
  for (const Element element :
       {Element::bf16, Element::f16, Element::e4m3, Element::e5m2, Element::i8, Element::f32})
    out.run[element] = [plain_f32](const Arguments& arguments, const Tuning& tuning, Run& run) {
      if (is_plain(arguments)) plain_f32(arguments, tuning, run);
      else naive_low(LowProblem::of(arguments));
    };
  out.cannot_hold = [plain = out.cannot_hold](const Arguments& arguments) -> Reason {
    if (!has_low_problem(arguments.element())) return plain(arguments);
    (void)LowProblem::of(arguments);  // throws where there is no such product
    return std::nullopt;
  };
  return out;
}

const Rung rung{"three loops, row times column, one thread", Where::cpu, {for_all_elements()}};

}  // namespace
}  // namespace tessera::matmul
