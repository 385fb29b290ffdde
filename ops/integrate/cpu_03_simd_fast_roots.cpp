// SPDX-License-Identifier: Apache-2.0
// CPU rung 3: square roots from estimates of their reciprocals; the fastest trapezoid sum on CPUs.
//
// A core estimates 1/√a in one or two clocks, but takes a dozen for √a, which nothing else can share. A few
// terms of a series refine the estimate to full precision with products and sums, two of which start per
// clock. The root is within 3 ulp (f32: 5), which the error bound of a check includes; in a root of c - x²
// the argument is rounded once. Results are not bitwise identical to the other rungs', so it runs only with
// --roots fast. It is now limited by these products, and by the roots that the square-root unit computes
// beside them.
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
