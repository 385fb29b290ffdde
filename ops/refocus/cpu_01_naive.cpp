// SPDX-License-Identifier: Apache-2.0
// CPU rung 1: one sample of the result after another, on one core.
//
// Each sample asks every view where it lies, the border included: what anyone would write first. The
// questions cost more than the sums; the next rung asks them once for a line.
#include "refocus.hpp"
#include "ops/imaging/light_field_operation.hpp"
#include "tessera/rung.hpp"

namespace tessera::refocus {
namespace {

const Rung rung{"a sample after another, every view looked up, on one core",
                Where::cpu,
                {lightfield::naive_choice<Problem>()}};

}  // namespace
}  // namespace tessera::refocus
