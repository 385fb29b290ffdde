// SPDX-License-Identifier: Apache-2.0
// GPU rung 10: everything travels 16 bytes at a time, and no two lanes want the same bank.
//
// Rows of a patch come in runs of 16 bytes, so a fragment takes a quarter of the loads. Lanes are
// dealt so that each half of a warp wants at most 128 different bytes, what shared memory gives at
// once. Tiles of A and B lie alike, k by k: one that has to be transposed on its way in is written through
// a swizzle, which spreads the lanes over all banks. Two buffers save a barrier a step. Loads still
// pass through registers, and their addresses take slots that multiply-adds could have.
#include "ops/matmul/kernels/simt/vectorized.hpp"

namespace tessera::matmul {
namespace {

const KernelRung<Problem, VectorizedConfig, Vectorized, VectorizedConfig{128, 128}, VectorizedConfig{64, 128},
                 VectorizedConfig{64, 64}>
    rung{"16-byte accesses throughout, no bank conflicts, two buffers in shared memory"};

}  // namespace
}  // namespace tessera::matmul
