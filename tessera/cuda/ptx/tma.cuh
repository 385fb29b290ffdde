// SPDX-License-Identifier: Apache-2.0
// The tensor memory accelerator (TMA): boxes of a matrix between device and shared memory, by a map that the
// host made; and contiguous bytes without a map.
#pragma once
#include <cuda.h>
#include <cstdint>
#include "tessera/cuda/ptx/mbarrier.cuh"

namespace tessera::cuda::ptx {

__device__ __forceinline__ void prefetch_tensormap(const CUtensorMap& map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(&map) : "memory");
}

// A box whose first element is at (x, y), x along the contiguous dimension; what lies outside is zero. The
// barrier counts its bytes.
__device__ __forceinline__ void tma_load(void* to, const CUtensorMap& map, int x, int y, Mbarrier& barrier) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], "
      "[%4];" ::"r"(shared_address(to)),
      "l"(&map), "r"(x), "r"(y), "r"(shared_address(&barrier))
      : "memory");
}

// The same of layer z of a map of layers.
__device__ __forceinline__ void tma_load(void* to, const CUtensorMap& map, int x, int y, int z,
                                         Mbarrier& barrier) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4}], "
      "[%5];" ::"r"(shared_address(to)),
      "l"(&map), "r"(x), "r"(y), "r"(z), "r"(shared_address(&barrier))
      : "memory");
}

// To the same place in each of the cluster's blocks whose bit is set, and counted by the same barrier there.
__device__ __forceinline__ void tma_load_multicast(std::uint16_t blocks, void* to, const CUtensorMap& map,
                                                   int x, int y, Mbarrier& barrier) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster "
      "[%0], [%1, {%2, %3}], [%4], %5;" ::"r"(shared_address(to)),
      "l"(&map), "r"(x), "r"(y), "r"(shared_address(&barrier)), "h"(blocks)
      : "memory");
}

__device__ __forceinline__ void tma_load_multicast(std::uint16_t blocks, void* to, const CUtensorMap& map,
                                                   int x, int y, int z, Mbarrier& barrier) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster "
      "[%0], [%1, {%2, %3, %4}], [%5], %6;" ::"r"(shared_address(to)),
      "l"(&map), "r"(x), "r"(y), "r"(z), "r"(shared_address(&barrier)), "h"(blocks)
      : "memory");
}

// A map that a kernel before wrote to device memory, before this thread uses it; and what that kernel does
// then.
__device__ __forceinline__ void tensormap_acquire(const CUtensorMap& map) {
  asm volatile("fence.proxy.tensormap::generic.acquire.gpu [%0], 128;" ::"l"(&map) : "memory");
}
__device__ __forceinline__ void tensormap_release() {
  asm volatile("fence.proxy.tensormap::generic.release.gpu;" ::: "memory");
}

// What lies outside is not written.
__device__ __forceinline__ void tma_store(const CUtensorMap& map, const void* from, int x, int y) {
  asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%1, %2}], [%3];" ::"l"(&map),
               "r"(x), "r"(y), "r"(shared_address(from))
               : "memory");
}
__device__ __forceinline__ void tma_store(const CUtensorMap& map, const void* from, int x, int y, int z) {
  asm volatile("cp.async.bulk.tensor.3d.global.shared::cta.bulk_group [%0, {%1, %2, %3}], [%4];" ::"l"(&map),
               "r"(x), "r"(y), "r"(z), "r"(shared_address(from))
               : "memory");
}
__device__ __forceinline__ void tma_store_commit_group() {
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}

// Until all but the last `groups` have read what they store.
template <int groups>
__device__ __forceinline__ void tma_store_wait_group_read() {
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(groups) : "memory");
}

// Ordinary writes to shared memory are seen by the TMA and the tensor cores.
__device__ __forceinline__ void fence_proxy_async() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

// Contiguous bytes without a map, from device to shared memory. All three are multiples of 16. The barrier's
// phase waits for the bytes.
__device__ __forceinline__ void cp_async_bulk(void* to, const void* from, std::uint32_t bytes,
                                              Mbarrier& barrier) {
  asm volatile(
      "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%3], %2;\n"
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
          shared_address(to)),
      "l"(from), "r"(bytes), "r"(shared_address(&barrier))
      : "memory");
}

}  // namespace tessera::cuda::ptx
