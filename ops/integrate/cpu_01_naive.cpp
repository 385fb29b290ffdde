// SPDX-License-Identifier: Apache-2.0
// CPU rung 1: one loop over the strips, one thread.
//
// The host's program that a GPU is held against: each strip's sample is computed and added before the next.
// With one accumulator (--sum plain, kahan) the order is that of the strips. Every sample waits for the
// interpreter's steps one after another: points at a time come next.
#include "sum/partials.hpp"
#include "sum/simd_sum.hpp"

namespace tessera::integration {
namespace {

const Rung rung{"one loop over the strips, one thread",
                Where::cpu,
                {trapezoid_choice([](const auto& p, const Device&) { return add_everything(p); }, 1)}};

}  // namespace
}  // namespace tessera::integration
