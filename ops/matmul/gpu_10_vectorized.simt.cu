// SPDX-License-Identifier: Apache-2.0
// GPU rung 10: 16-byte accesses throughout, without bank conflicts.
//
// Rows of a patch are contiguous in 16 bytes, so a fragment takes a quarter of the loads. The lanes of each
// half-warp read at most 128 different bytes, the width of shared memory. Tiles of A and B both have k as
// their slow index: a tile that is transposed on its way in is written through a swizzle, which spreads the
// lanes over all banks. Double buffering saves a barrier per step. Loads still pass through registers, and
// their address arithmetic takes issue slots from multiply-adds.
#include "ops/matmul/kernels/simt/vectorized.hpp"

namespace tessera::matmul {
namespace {

const KernelRung<Problem, VectorizedConfig, Vectorized, VectorizedConfig{128, 128}, VectorizedConfig{64, 128},
                 VectorizedConfig{64, 64}>
    rung{"16-byte accesses throughout, no bank conflicts, two buffers in shared memory"};

}  // namespace
}  // namespace tessera::matmul
