// SPDX-License-Identifier: Apache-2.0
// GPU rung 15: persistent blocks.
//
// As many blocks as there are multiprocessors take tile after tile, so the next tile's copies arrive while
// the last one's results are stored, and neighbours in time are neighbours in C, whose rows and columns the
// L2 cache then has. What limits it: every block reads all of its A and B from there.
#include "ops/matmul/problem/operands.hpp"
#include "ops/matmul/kernels/hopper/wgmma_rung.cuh"

namespace tessera::matmul {
namespace {

const Rung rung(
    step_variant<Step::persistent>("persistent blocks take tile after tile, rasterised for L2 locality"));
[[maybe_unused]] const bool registered =
    (register_layouts([](Element, const OperandLayout& order) { return by_tma(order, false); }), true);

}  // namespace
}  // namespace tessera::matmul
