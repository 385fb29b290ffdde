// SPDX-License-Identifier: Apache-2.0
// GPU rung 13: tensor cores that read both operands from shared memory.
//
// wgmma reads its operands from the shared memory that the TMA fills, 64 rows by up to 256 columns per
// instruction: no thread loads fragments or computes addresses of elements. One warpgroup does
// everything: it issues TMA loads, waits, multiplies, waits again. The limit: while it waits, the tensor
// cores idle.
#include "ops/matmul/gemm/operands.hpp"
#include "ops/matmul/kernels/wgmma/wgmma_rung.cuh"

namespace tessera::matmul {
namespace {

const Rung rung(
    step_variant<Step::one_warpgroup>("tensor cores read both operands from shared memory, which the "
                                      "TMA fills; one warpgroup does all"));
[[maybe_unused]] const bool registered =
    (register_layouts([](Element, const OperandLayout& order) { return by_tma(order, false); }), true);

}  // namespace
}  // namespace tessera::matmul
