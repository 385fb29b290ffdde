// SPDX-License-Identifier: Apache-2.0
// CPU rung 2: the two inner loops exchanged.
//
// A row of C accumulates multiples of full rows of B, so memory is read sequentially and the compiler can
// vectorize. Each element is still summed in the order of k. The limit is now that all of B passes through
// the caches once for every row of C.
#include "ops/matmul/kernels/cpu/serial_loops.hpp"
#include "tessera/rung.hpp"

namespace tessera::matmul {
namespace {

template <class T>
void ordered(const Problem<T>& p) {
  if (p.m() == 0 || p.n() == 0) return;
  std::vector<T> sums(static_cast<std::size_t>(p.n()));
  for (std::int64_t i = 0; i < p.m(); ++i) {
    sums.assign(sums.size(), T{0});
    for (std::int64_t l = 0; l < p.k(); ++l)
      add_multiple(sums.data(), p.a(i, l), p.b.data + l * p.b.stride[0], p.b.stride[1], p.n());
    for (std::int64_t j = 0; j < p.n(); ++j) p.store(i, j, sums[static_cast<std::size_t>(j)]);
  }
}

const Rung rung{"inner loops exchanged: rows of B are read in the order in which they lie",
                Where::cpu,
                {choice_of<Problem>([](const auto& p, const Tuning&, Run&) { ordered(p); })}};

}  // namespace
}  // namespace tessera::matmul
