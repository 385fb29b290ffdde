// SPDX-License-Identifier: Apache-2.0
// CPU rung 1: one pixel after another, on one core.
//
// Each pixel sums its whole window in every plane, although its neighbour's window is nearly the same.
#include "sharpest.hpp"
#include "tessera/rung.hpp"

namespace tessera::sharpest {
namespace {

template <class T>
void run_naive(const Problem<T>& p) {
  for (int y = 0; y < p.height(); ++y)
    for (int x = 0; x < p.width(); ++x) p.compute(y, x);
}

const Rung rung{"a pixel after another, its window summed anew in every plane, on one core",
                Where::cpu,
                {choice_of<Problem>([](const auto& p, const Tuning&, Run&) { run_naive(p); })}};

}  // namespace
}  // namespace tessera::sharpest
