// SPDX-License-Identifier: Apache-2.0
// GPU rung 15: persistent blocks.
//
// One block per multiprocessor computes tile after tile, so the next tile's loads complete during the
// previous one's epilogue, and tiles that are computed at the same time are neighbours in C, so that the L2
// cache holds their rows of A and columns of B. The limit: every block reads all of its A and B from L2.
#include "ops/matmul/gemm/operands.hpp"
#include "ops/matmul/kernels/wgmma/wgmma_rung.cuh"

namespace tessera::matmul {
namespace {

const Rung rung(
    step_variant<Step::persistent>("persistent blocks take tile after tile, rasterised for L2 locality"));
[[maybe_unused]] const bool registered =
    (register_layouts([](Element, const OperandLayout& order) { return by_tma(order, false); }), true);

}  // namespace
}  // namespace tessera::matmul
