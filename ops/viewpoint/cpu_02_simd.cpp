// SPDX-License-Identifier: Apache-2.0
// CPU rung 2: vectors, lines summed once, every core. The CPU's summit.
//
// All views of a row of the grid move up and down alike: their lines are summed along the row first, and only
// the sum is weighed between two lines, once for the two rows of the result that it lies between. A view's
// line is thus read once for a band of rows, and most of the arithmetic has 16 bits. Sums of floats are taken
// in this order by definition. What limits it now is widening bytes and the sums' way to the cache and back.
#include "viewpoint.hpp"
#include "ops/refocus/sum.hpp"
#include "tessera/core/device.hpp"
#include "tessera/rung.hpp"

namespace tessera::viewpoint {
namespace {

Choice choice() {
  Choice out = choice_of<Problem>(
      [](const auto& p, const Tuning&, Run& run) { lightfield::sum_views(p, run.device->threads); });
  out.refuses = [](const Arguments& arguments, const Tuning&, const Device&) -> Reason {
    const ArrayView& to = arguments.array(find_operation("viewpoint")->output);
    if (to.strides[2] != to.extents[3] || (to.strides[3] != 1 && to.extents[3] != 1))
      return "the result's pixels do not lie side by side";
    return std::nullopt;
  };
  return out;
}

const Rung rung{"vectors, lines summed along a row of the grid first, all cores", Where::cpu, {choice()}};

}  // namespace
}  // namespace tessera::viewpoint
