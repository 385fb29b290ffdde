// SPDX-License-Identifier: Apache-2.0
// CPU rung 2: vectors, lines summed once, every core. The CPU's summit.
//
// All views of a row of the grid move up and down alike: their lines are summed along the row first, and only
// the sum is weighed between two lines, once for the two rows of the result that it lies between. A view's
// line is thus read once for a band of rows, and most of the arithmetic has 16 bits. Sums of floats are taken
// in this order by definition. What limits it now is widening bytes and the sums' way to the cache and back.
#include "viewpoint.hpp"
#include "ops/imaging/light_field_operation.hpp"
#include "tessera/core/device.hpp"
#include "tessera/rung.hpp"

namespace tessera::viewpoint {
namespace {

const Rung rung{"vectors, lines summed along a row of the grid first, all cores",
                Where::cpu,
                {lightfield::simd_choice<Problem>("seen")}};

}  // namespace
}  // namespace tessera::viewpoint
