// SPDX-License-Identifier: Apache-2.0
// A stranger's rung: each sum taken from its end.
#include "tessera/ops/matmul.hpp"
#include "tessera/rung.hpp"

namespace tessera::matmul {
namespace {

template <class T>
void backwards(const Problem<T>& p) {
  for (std::int64_t i = 0; i < p.m(); ++i)
    for (std::int64_t j = 0; j < p.n(); ++j) {
      T sum = 0;
      for (std::int64_t l = p.k(); l-- > 0;) sum = multiply_add(p.a(i, l), p.b(l, j), sum);
      p.store(i, j, sum);
    }
}

const Rung rung{"each sum from its end",
                Where::cpu,
                {choice_of<Problem>([](const auto& p, const Tuning&, Run&) { backwards(p); })}};

}  // namespace
}  // namespace tessera::matmul
