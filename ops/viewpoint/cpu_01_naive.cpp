// SPDX-License-Identifier: Apache-2.0
// CPU rung 1: one sample of the result after another, on one core.
//
// Each sample computes its position in every view, borders included, which costs more than the sums. The next
// rung does so once for a line.
#include "viewpoint.hpp"
#include "ops/imaging/light_field_operation.hpp"
#include "tessera/rung.hpp"

namespace tessera::viewpoint {
namespace {

const Rung rung{"a sample after another, every view looked up, on one core",
                Where::cpu,
                {lightfield::naive_choice<Problem>()}};

}  // namespace
}  // namespace tessera::viewpoint
