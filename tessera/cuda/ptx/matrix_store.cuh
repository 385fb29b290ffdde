// SPDX-License-Identifier: Apache-2.0
// Pieces of 8 × 8 numbers of 16 bits, from a warp's registers to rows in shared memory.
#pragma once
#include <cstdint>
#include "tessera/cuda/ptx/mbarrier.cuh"

namespace tessera::cuda::ptx {

// Four pieces; lane i gives where row i % 8 of piece i / 8 goes, 16 bytes.
__device__ __forceinline__ void store_pieces(void* row, std::uint32_t p0, std::uint32_t p1, std::uint32_t p2,
                                             std::uint32_t p3) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(shared_address(row)),
               "r"(p0), "r"(p1), "r"(p2), "r"(p3)
               : "memory");
}

}  // namespace tessera::cuda::ptx
