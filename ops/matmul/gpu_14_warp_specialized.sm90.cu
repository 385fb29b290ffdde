// SPDX-License-Identifier: Apache-2.0
// GPU rung 14: warp specialization.
//
// The producer warpgroup only issues TMA loads, as far ahead as there are stages; two consumer warpgroups
// only multiply, and release stages through mbarriers. setmaxnreg moves registers from the producer to the
// consumers, so that a tile is twice as large. The limit: at the start of a tile no load has completed,
// during its epilogue the tensor cores idle, and each tile is a new block.
#include "ops/matmul/gemm/operands.hpp"
#include "ops/matmul/kernels/wgmma/wgmma_rung.cuh"

namespace tessera::matmul {
namespace {

const Rung rung(
    step_variant<Step::warp_specialized>("one warpgroup copies, two multiply; barriers hand stages over"));
[[maybe_unused]] const bool registered =
    (register_layouts([](Element, const OperandLayout& order) { return by_tma(order, false); }), true);

}  // namespace
}  // namespace tessera::matmul
