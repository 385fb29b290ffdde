// SPDX-License-Identifier: Apache-2.0
// Asynchronous copies from global to shared memory, past the registers. Before compute capability
// 8.0, where there are none, each is an ordinary copy and waiting is for nothing.
#pragma once
#include <cstdint>

namespace tessera::cuda::ptx {

namespace detail {
__device__ __forceinline__ std::uint32_t shared_address(void* address) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(address));
}

template <int bytes>
__device__ __forceinline__ void copy_now(void* to, const void* from, int valid) {
  for (int i = 0; i < bytes / 4; ++i)
    static_cast<std::uint32_t*>(to)[i] = 4 * i < valid ? static_cast<const std::uint32_t*>(from)[i] : 0;
}
}  // namespace detail

// 4, 8 or 16 bytes, both addresses multiples of it. The first `valid` bytes are read, the rest of the
// target becomes 0.
template <int bytes>
__device__ __forceinline__ void copy_async(void* to, const void* from, int valid) {
#if __CUDA_ARCH__ >= 800
  if constexpr (bytes == 16)
    asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"(detail::shared_address(to)),
                 "l"(from), "r"(valid));
  else
    asm volatile("cp.async.ca.shared.global.L2::128B [%0], [%1], %3, %2;" ::"r"(detail::shared_address(to)),
                 "l"(from), "r"(valid), "n"(bytes));
#else
  detail::copy_now<bytes>(to, from, valid);
#endif
}

// `near`: by way of the L1 cache, for what other blocks read, too. Fewer than 16 bytes always go that way.
template <int bytes, bool near = bytes != 16>
__device__ __forceinline__ void copy_async(void* to, const void* from) {
#if __CUDA_ARCH__ >= 800
  if constexpr (!near)
    asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16;" ::"r"(detail::shared_address(to)),
                 "l"(from));
  else
    asm volatile("cp.async.ca.shared.global.L2::128B [%0], [%1], %2;" ::"r"(detail::shared_address(to)),
                 "l"(from), "n"(bytes));
#else
  detail::copy_now<bytes>(to, from, bytes);
#endif
}

// 16 bytes, or nothing: without a branch, across which the compiler would move nothing.
__device__ __forceinline__ void copy_async_if(bool wanted, void* to, const void* from) {
#if __CUDA_ARCH__ >= 800
  asm volatile(
      "{\n .reg .pred wanted;\n setp.ne.b32 wanted, %2, 0;\n"
      " @wanted cp.async.cg.shared.global.L2::128B [%0], [%1], 16;\n}" ::"r"(detail::shared_address(to)),
      "l"(from), "r"(static_cast<int>(wanted)));
#else
  if (wanted) detail::copy_now<16>(to, from, 16);
#endif
}

// Closes a group: the copies since the last one.
__device__ __forceinline__ void commit_copies() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.commit_group;");
#endif
}

// Waits until at most `groups` of this thread's groups are still under way.
template <int groups>
__device__ __forceinline__ void wait_for_copies() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_group %0;" ::"n"(groups) : "memory");
#endif
}

}  // namespace tessera::cuda::ptx
