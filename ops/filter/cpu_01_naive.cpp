// SPDX-License-Identifier: Apache-2.0
// CPU rung 1: one sample of the result after another, on one core.
//
// For each of its samples every tap asks where its sample lies, the border included: what anyone would write
// first. The questions cost more than the sums; the next rung asks them once for a row.
#include "filter.hpp"
#include "tessera/rung.hpp"

namespace tessera::filter {
namespace {

template <class T>
void run_naive(const Problem<T>& p, const Tuning&, Run&) {
  for (std::int64_t n = 0; n < p.images(); ++n)
    for (int y = 0; y < p.rows(); ++y) {
      for (int x = 0; x < p.cols(); ++x)
        for (int c = 0; c < p.channels(); ++c) p.compute(n, y, x, c);
    }
}

const Rung rung{
    "a sample after another, every tap looked up, on one core",
    Where::cpu,
    {choice_of<Problem>([](const auto& p, const Tuning& tuning, Run& run) { run_naive(p, tuning, run); })}};

}  // namespace
}  // namespace tessera::filter
