// SPDX-License-Identifier: Apache-2.0
// CPU rung 1: one pixel of the result after another, on one core.
//
// The sum along a row is computed again for each row of the result that uses it. The next rung computes it
// once.
#include "resize.hpp"
#include "tessera/rung.hpp"

namespace tessera::resizing {
namespace {

template <class T>
void run_naive(const Problem<T>& p) {
  for (std::int64_t n = 0; n < p.images(); ++n)
    for (int y = 0; y < p.rows(); ++y) {
      for (int x = 0; x < p.cols(); ++x) p.compute(n, y, x);
    }
}

const Rung rung{"a pixel after another, every sum anew, on one core",
                Where::cpu,
                {choice_of<Problem>([](const auto& p, const Tuning&, Run&) { run_naive(p); })}};

}  // namespace
}  // namespace tessera::resizing
