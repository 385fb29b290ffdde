// SPDX-License-Identifier: Apache-2.0
// CPU rung 2: eight vectors of strips at a time, every core.
//
// The formula's operators run on vectors, cheap ones handing their values on in registers. Thirty-two runs of
// strips are added side by side, one to a lane: the order within a run stays, and with it the bits. Plain and
// Kahan sums: strips are dealt to the lanes in turn, lanes joined two by two, pieces of at least 32768 strips
// in their order. What limits it now is the square root, which a processor draws one after another.
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
