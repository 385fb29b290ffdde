// SPDX-License-Identifier: Apache-2.0
// CPU rung 1: three loops, one thread: each element of C is a row of A times a column of B.
//
// The serial baseline that every other rung is measured against. The sum runs in the order of k,
// rounding each product and each sum. Stepping down a column of B touches a new cache line for every
// element, which is what the next rung mends.
#include "cpu_loops.hpp"
#include "tessera/rung.hpp"

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

const Rung rung{"three loops, row times column, one thread",
                Where::cpu,
                {choice_of<Problem>([](const auto& p, const Tuning&, Run&) { naive(p); })}};

}  // namespace
}  // namespace tessera::matmul
