// SPDX-License-Identifier: Apache-2.0
// CPU rung 2: vectors, lines summed once, every core. The fastest CPU rung.
//
// All views of a row of the grid have the same vertical shift: their lines are summed along the row first,
// and only the sum is weighted between two lines, once for both rows of the result that it contributes to. A
// view's line is thus read once for a band of rows, and most of the arithmetic has 16 bits. Sums of floats
// are taken in this order by definition. The bottleneck is widening bytes, and writing sums to the cache and
// reading them back.
#include "refocus.hpp"
#include "ops/imaging/light_field_operation.hpp"
#include "tessera/core/device/device.hpp"
#include "tessera/rung.hpp"

namespace tessera::refocus {
namespace {

const Rung rung{"vectors, lines summed along a row of the grid first, all cores",
                Where::cpu,
                {lightfield::simd_choice<Problem>("refocused")}};

}  // namespace
}  // namespace tessera::refocus
