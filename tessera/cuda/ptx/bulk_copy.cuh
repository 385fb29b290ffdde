// SPDX-License-Identifier: Apache-2.0
// The copy engine without a map: bytes that lie one after another, from device to shared memory.
#pragma once
#include "tessera/cuda/ptx/mbarrier.cuh"

namespace tessera::cuda::ptx {

// All three are multiples of 16. The barrier's phase waits for the bytes.
__device__ __forceinline__ void copy_bulk(void* to, const void* from, std::uint32_t bytes, Barrier& barrier) {
  asm volatile(
      "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%3], %2;\n"
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
          shared_address(to)),
      "l"(from), "r"(bytes), "r"(shared_address(&barrier))
      : "memory");
}

}  // namespace tessera::cuda::ptx
