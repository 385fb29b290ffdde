// SPDX-License-Identifier: Apache-2.0
// GPU rung 14: warp specialization.
//
// One warpgroup only asks for copies, as far ahead as there are stages; two others only multiply, and give
// stages back by barriers that count. Registers move from the one to the others, so that a tile is twice as
// large. What limits it: at a tile's begin nothing has arrived, at its end nobody multiplies, and each tile
// is a new block.
#include "ops/matmul/problem/operands.hpp"
#include "ops/matmul/kernels/hopper/wgmma_rung.cuh"

namespace tessera::matmul {
namespace {

const Rung rung(
    step_variant<Step::warp_specialized>("one warpgroup copies, two multiply; barriers hand stages over"));
[[maybe_unused]] const bool registered =
    (register_layouts([](Element, const OperandLayout& order) { return by_tma(order, false); }), true);

}  // namespace
}  // namespace tessera::matmul
