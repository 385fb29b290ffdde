// SPDX-License-Identifier: Apache-2.0
// CPU rung 3: square roots from the estimate of their reciprocals. The sum's summit on processors.
//
// Processors estimate 1/√a in a clock or two, and draw √a in a dozen that nothing else can share. A few terms
// of a series make every digit of the estimate: products and sums, of which two start in each clock. The root
// is within 3 units of the last place (f32: 5), which the bound of a check then takes into account; where it
// is of c - x², that is rounded once. Bits differ from the other rungs': it runs where --roots fast allows
// it. What limits it now is those products, and beside them the roots that the other unit draws.
#include "sum/simd_sum.hpp"
#include "tessera/rung.hpp"

namespace tessera::integration {
namespace {

Choice choice() {
  Choice out = choice_of<Problem>([](const auto& p, const Tuning&, Run& run) {
    *p.result = add_by_simd(p, run.device->threads, formula::Roots::fast);
  });
  out.refuses = [](const Arguments& arguments, const Tuning&, const Device& device) -> Reason {
    if (arguments.text("roots") != "fast")
      return "its roots are within 5 units of the last place: --roots fast allows them";
    return too_slow(arguments, device.threads);
  };
  return out;
}

const Rung rung{
    "as simd, square roots within 5 ulp from the estimate of their reciprocals", Where::cpu, {choice()}};

}  // namespace
}  // namespace tessera::integration
