// SPDX-License-Identifier: Apache-2.0
// CPU rung 1: one loop over the strips, one thread.
//
// The host program that GPU results are compared with. It computes and adds each strip's sample before the
// next. With one accumulator (--sum plain, kahan) strips are added in index order. It is limited by the
// interpreter's latency, because no two samples overlap.
#include "sum/partials.hpp"
#include "sum/simd_sum.hpp"

namespace tessera::integration {
namespace {

const Rung rung{"one loop over the strips, one thread",
                Where::cpu,
                {trapezoid_choice([](const auto& p, const Device&) { return add_everything(p); }, 1)}};

}  // namespace
}  // namespace tessera::integration
