// SPDX-License-Identifier: Apache-2.0
// CPU rung 2: eight vectors of strips at a time, every core.
//
// The formula's operators run on vectors, cheap ones handing their values on in registers. Thirty-two runs of
// strips are added side by side, one to a lane: the order within a run stays, and with it the bits. Plain and
// Kahan sums: strips are dealt to the lanes in turn, lanes joined two by two, pieces of at least 32768 strips
// in their order. What limits it now is the square root, which a processor draws one after another.
#include "sum/simd_sum.hpp"
#include "tessera/rung.hpp"

namespace tessera::integration {
namespace {

Choice choice() {
  Choice out = choice_of<Problem>([](const auto& p, const Tuning&, Run& run) {
    *p.result = add_by_simd(p, run.device->threads, formula::Roots::ieee);
  });
  out.refuses = [](const Arguments& arguments, const Tuning&, const Device& device) -> Reason {
    return too_slow(arguments, device.threads);
  };
  return out;
}

const Rung rung{"eight vectors of strips at a time, 32 runs side by side, all cores", Where::cpu, {choice()}};

}  // namespace
}  // namespace tessera::integration
