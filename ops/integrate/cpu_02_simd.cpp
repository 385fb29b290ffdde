// SPDX-License-Identifier: Apache-2.0
// CPU rung 2: eight vectors of strips at a time, every core.
//
// The formula's operators run on vectors; cheap operators keep their values in registers. Thirty-two runs of
// strips are added side by side, one per lane, which preserves the order within a run and therefore the
// result, bit for bit. Plain and Kahan sums assign strips to the lanes round-robin, join the lanes pairwise,
// and add pieces of at least 32768 strips in index order. It is now limited by the square root, which a core
// computes one after another.
#include <limits>
#include "sum/simd_sum.hpp"

namespace tessera::integration {
namespace {

Choice choice() {
  return trapezoid_choice(
      [](const auto& p, const Device& device) {
        return add_by_simd(p, device.threads, formula::Roots::ieee);
      },
      std::numeric_limits<int>::max());
}

const Rung rung{"eight vectors of strips at a time, 32 runs side by side, all cores", Where::cpu, {choice()}};

}  // namespace
}  // namespace tessera::integration
