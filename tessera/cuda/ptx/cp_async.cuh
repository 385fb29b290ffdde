// SPDX-License-Identifier: Apache-2.0
// cp.async: asynchronous copies from global to shared memory that bypass registers. Below compute capability
// 8.0 each is an ordinary copy, and waits do nothing.
#pragma once
#include <cstdint>
#include "tessera/cuda/ptx/shared_address.cuh"

namespace tessera::cuda::ptx {

namespace detail {
template <int bytes>
__device__ __forceinline__ void copy_sync(void* to, const void* from, int src_size) {
  for (int i = 0; i < bytes / 4; ++i)
    static_cast<std::uint32_t*>(to)[i] = 4 * i < src_size ? static_cast<const std::uint32_t*>(from)[i] : 0;
}
}  // namespace detail

// Copies 4, 8 or 16 bytes; both addresses are aligned to that size. Reads only the first `src_size` bytes and
// fills the rest of the destination with zeros. Below compute capability 8.0 src_size is rounded up to a
// multiple of 4.
template <int bytes>
__device__ __forceinline__ void cp_async(void* to, const void* from, int src_size) {
#if __CUDA_ARCH__ >= 800
  if constexpr (bytes == 16)
    asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"(shared_address(to)),
                 "l"(from), "r"(src_size));
  else
    asm volatile("cp.async.ca.shared.global.L2::128B [%0], [%1], %3, %2;" ::"r"(shared_address(to)),
                 "l"(from), "r"(src_size), "n"(bytes));
#else
  detail::copy_sync<bytes>(to, from, src_size);
#endif
}

// `cache_in_l1`: cp.async.ca, for data that other blocks of the multiprocessor read, too; else cp.async.cg,
// which exists for 16 bytes only.
template <int bytes, bool cache_in_l1 = bytes != 16>
__device__ __forceinline__ void cp_async(void* to, const void* from) {
#if __CUDA_ARCH__ >= 800
  if constexpr (!cache_in_l1)
    asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16;" ::"r"(shared_address(to)), "l"(from));
  else
    asm volatile("cp.async.ca.shared.global.L2::128B [%0], [%1], %2;" ::"r"(shared_address(to)), "l"(from),
                 "n"(bytes));
#else
  detail::copy_sync<bytes>(to, from, bytes);
#endif
}

// Copies 16 bytes if `pred`. The instruction is predicated rather than branched around, because a branch
// would limit the compiler's scheduling.
__device__ __forceinline__ void cp_async_if(bool pred, void* to, const void* from) {
#if __CUDA_ARCH__ >= 800
  asm volatile(
      "{\n .reg .pred p;\n setp.ne.b32 p, %2, 0;\n"
      " @p cp.async.cg.shared.global.L2::128B [%0], [%1], 16;\n}" ::"r"(shared_address(to)),
      "l"(from), "r"(static_cast<int>(pred)));
#else
  if (pred) detail::copy_sync<16>(to, from, 16);
#endif
}

// Commits this thread's copies since the last commit to a group.
__device__ __forceinline__ void cp_async_commit_group() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.commit_group;");
#endif
}

// Waits until at most the latest `groups` of this thread's groups are still pending.
template <int groups>
__device__ __forceinline__ void cp_async_wait_group() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_group %0;" ::"n"(groups) : "memory");
#endif
}

}  // namespace tessera::cuda::ptx
