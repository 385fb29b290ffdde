// SPDX-License-Identifier: Apache-2.0
// CPU rung 3: square roots from the estimate of their reciprocals. The sum's summit on processors.
//
// Processors estimate 1/√a in a clock or two, and draw √a in a dozen that nothing else can share. A few terms
// of a series make every digit of the estimate: products and sums, of which two start in each clock. The root
// is within 3 units of the last place (f32: 5), which the bound of a check then takes into account; where it
// is of c - x², that is rounded once. Bits differ from the other rungs': it runs where --roots fast allows
// it. What limits it now is those products, and beside them the roots that the other unit draws.
#include <limits>
#include "sum/simd_sum.hpp"

namespace tessera::integration {
namespace {

Choice choice() {
  Choice out = trapezoid_choice(
      [](const auto& p, const Device& device) {
        return add_by_simd(p, device.threads, formula::Roots::fast);
      },
      std::numeric_limits<int>::max());
  out.refuses = [](const Arguments& arguments, const Tuning&, const Device&) -> Reason {
    if (const auto other = not_trapezoid(arguments)) return other;
    if (arguments.text("roots") == "fast") return std::nullopt;
    return "its roots are within 5 units of the last place: --roots fast allows them";
  };
  return out;
}

const Rung rung{
    "as simd, square roots within 5 ulp from the estimate of their reciprocals", Where::cpu, {choice()}};

}  // namespace
}  // namespace tessera::integration
