// SPDX-License-Identifier: Apache-2.0
// The Tensor Memory Accelerator (TMA): copies boxes of a tensor, described by a tensor map (CUtensorMap),
// between global and shared memory; and contiguous bytes without a tensor map.
#pragma once
#include <cuda.h>
#include <cstdint>
#include "tessera/cuda/ptx/mbarrier.cuh"

namespace tessera::cuda::ptx {

__device__ __forceinline__ void prefetch_tensormap(const CUtensorMap& map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(&map) : "memory");
}

// Loads the box whose first element is at (x, y), x along the contiguous dimension, to shared memory.
// Elements outside the tensor become 0. The copy signals its completion by complete_tx::bytes on the
// mbarrier. `to` and `barrier`: see shared_address().
__device__ __forceinline__ void tma_load(std::uint32_t to, const CUtensorMap& map, int x, int y,
                                         std::uint32_t barrier) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], "
      "[%4];" ::"r"(to),
      "l"(&map), "r"(x), "r"(y), "r"(barrier)
      : "memory");
}

// tma_load() for a three-dimensional tensor map: loads the box at (x, y, z).
__device__ __forceinline__ void tma_load(std::uint32_t to, const CUtensorMap& map, int x, int y, int z,
                                         std::uint32_t barrier) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4}], "
      "[%5];" ::"r"(to),
      "l"(&map), "r"(x), "r"(y), "r"(z), "r"(barrier)
      : "memory");
}

// Loads a box to the same offset in the shared memory of each block of the cluster whose bit is set in
// `cta_mask`, with complete_tx::bytes on the mbarrier at the same offset there.
__device__ __forceinline__ void tma_load_multicast(std::uint16_t cta_mask, std::uint32_t to,
                                                   const CUtensorMap& map, int x, int y,
                                                   std::uint32_t barrier) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster "
      "[%0], [%1, {%2, %3}], [%4], %5;" ::"r"(to),
      "l"(&map), "r"(x), "r"(y), "r"(barrier), "h"(cta_mask)
      : "memory");
}

__device__ __forceinline__ void tma_load_multicast(std::uint16_t cta_mask, std::uint32_t to,
                                                   const CUtensorMap& map, int x, int y, int z,
                                                   std::uint32_t barrier) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster "
      "[%0], [%1, {%2, %3, %4}], [%5], %6;" ::"r"(to),
      "l"(&map), "r"(x), "r"(y), "r"(z), "r"(barrier), "h"(cta_mask)
      : "memory");
}

// For tensor maps that a kernel writes to global memory: the writer releases, a reader in a later kernel
// acquires before its first use.
__device__ __forceinline__ void tensormap_acquire(const CUtensorMap& map) {
  asm volatile("fence.proxy.tensormap::generic.acquire.gpu [%0], 128;" ::"l"(&map) : "memory");
}
__device__ __forceinline__ void tensormap_release() {
  asm volatile("fence.proxy.tensormap::generic.release.gpu;" ::: "memory");
}

// Stores a box. Elements outside the tensor are not written, but the bound along x is only enforced at
// 16-byte granularity: the last 16 bytes of a row are all stored (observed on an NVIDIA H200).
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

// Waits until all but the latest `groups` bulk groups have read their shared memory, which may then be
// reused.
template <int groups>
__device__ __forceinline__ void tma_store_wait_group_read() {
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(groups) : "memory");
}

// Makes this thread's generic-proxy writes to shared memory visible to the async proxy: the TMA and wgmma.
__device__ __forceinline__ void fence_proxy_async() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

// Copies contiguous bytes from global to shared memory. Both addresses and the size are multiples of 16. Also
// executes mbarrier.expect_tx; does not arrive.
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
