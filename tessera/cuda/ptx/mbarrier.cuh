// SPDX-License-Identifier: Apache-2.0
// mbarrier objects: barriers in shared memory that count arrivals, and transactions (bytes) of asynchronous
// copies.
#pragma once
#include <cstdint>
#include "tessera/cuda/ptx/shared_address.cuh"

namespace tessera::cuda::ptx {

// Functions that take a std::uint32_t take the barrier's shared_address().
struct Mbarrier {
  std::uint64_t state;
};

__device__ __forceinline__ void mbarrier_init(Mbarrier& barrier, int arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(&barrier)), "r"(arrivals));
}

// Release fence of prior mbarrier.init at cluster scope; followed by barrier.cluster or __syncthreads().
__device__ __forceinline__ void fence_mbarrier_init() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

// Performs expect-tx of `bytes` (adds to the tx-count of the current phase), then one arrive-on.
__device__ __forceinline__ void mbarrier_arrive_expect_tx(std::uint32_t barrier, std::uint32_t bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes)
               : "memory");
}

// Arrives at the barrier at the same offset in the shared memory of block `block` of the cluster.
__device__ __forceinline__ void mbarrier_arrive_cluster(Mbarrier& barrier, std::uint32_t block) {
  asm volatile(
      "{\n .reg .b32 remote;\n"
      " mapa.shared::cluster.u32 remote, %0, %1;\n"
      " mbarrier.arrive.shared::cluster.b64 _, [remote];\n}" ::"r"(shared_address(&barrier)),
      "r"(block)
      : "memory");
}
__device__ __forceinline__ void mbarrier_arrive(Mbarrier& barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(&barrier)) : "memory");
}

// Waits until the phase of this parity has completed.
__device__ __forceinline__ void mbarrier_wait(std::uint32_t barrier, std::uint32_t parity) {
  asm volatile(
      "{\n .reg .pred over;\n"
      "again_%=:\n"
      " mbarrier.try_wait.parity.shared::cta.b64 over, [%0], %1;\n"
      " @over bra done_%=;\n"
      " bra again_%=;\n"
      "done_%=:\n}" ::"r"(barrier),
      "r"(parity)
      : "memory");
}
__device__ __forceinline__ void mbarrier_wait(Mbarrier& barrier, std::uint32_t parity) {
  mbarrier_wait(shared_address(&barrier), parity);
}

}  // namespace tessera::cuda::ptx
