// SPDX-License-Identifier: Apache-2.0
// CPU rung 1: one sample of the result after another, on one core.
//
// Each sample asks every view where it lies, the border included: what anyone would write first. The
// questions cost more than the sums; the next rung asks them once for a line.
#include "refocus.hpp"
#include "tessera/rung.hpp"

namespace tessera::refocus {
namespace {

template <class T>
void run_naive(const Problem<T>& p) {
  for (int plane = 0; plane < p.planes(); ++plane)
    for (int y = 0; y < p.height(); ++y) {
      for (int x = 0; x < p.width(); ++x)
        for (int c = 0; c < p.channels(); ++c) p.compute(plane, y, x, c);
    }
}

const Rung rung{"a sample after another, every view looked up, on one core",
                Where::cpu,
                {choice_of<Problem>([](const auto& p, const Tuning&, Run&) { run_naive(p); })}};

}  // namespace
}  // namespace tessera::refocus
