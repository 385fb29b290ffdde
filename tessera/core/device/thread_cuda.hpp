// SPDX-License-Identifier: Apache-2.0
// The bodies of Thread under nvcc. The device pass maps each to its intrinsic. nvcc's host pass also compiles
// kernels but never runs one: g++'s build of the same file does that.
#pragma once
#include "tessera/core/device/thread.hpp"
#include <cstdlib>
#include <type_traits>

namespace tessera {
inline namespace TESSERA_UNIT {

#if defined(__CUDA_ARCH__)

namespace detail {

// The intrinsics take unsigned long long, but std::uint64_t is unsigned long.
template <class T>
using Carrier = std::conditional_t<
    std::is_floating_point_v<T>, T,
    std::conditional_t<sizeof(T) == 4, std::conditional_t<std::is_signed_v<T>, int, unsigned>,
                       std::conditional_t<std::is_signed_v<T>, long long, unsigned long long>>>;
// Unsigned words of T's width, for bitwise comparison and exchange.
template <class T>
using Word = std::conditional_t<sizeof(T) == 4, unsigned, unsigned long long>;

template <class T>
__device__ __forceinline__ Carrier<T>* carrier(T* address) {
  return reinterpret_cast<Carrier<T>*>(address);
}

template <class To, class From>
__device__ __forceinline__ To bits_as(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  __builtin_memcpy(&to, &from, sizeof to);
  return to;
}

}  // namespace detail

SIMT Index3 Thread::index() const { return {int(threadIdx.x), int(threadIdx.y), int(threadIdx.z)}; }
SIMT Index3 Thread::block() const { return {int(blockIdx.x), int(blockIdx.y), int(blockIdx.z)}; }
SIMT Index3 Thread::size() const { return {int(blockDim.x), int(blockDim.y), int(blockDim.z)}; }
SIMT Index3 Thread::grid() const { return {int(gridDim.x), int(gridDim.y), int(gridDim.z)}; }
SIMT int Thread::rank() const {
  return int(threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z));
}
SIMT int Thread::lane() const { return rank() % warp_size; }
SIMT int Thread::warp() const { return rank() / warp_size; }

SIMT void Thread::sync(SourceLocation) const { __syncthreads(); }
SIMT void Thread::sync_warp(std::uint32_t lanes, SourceLocation) const { __syncwarp(lanes); }

template <class T>
SIMT T Thread::shuffle(T value, int lane, std::uint32_t lanes, SourceLocation) const {
  using Word = detail::Word<T>;
  return detail::bits_as<T>(__shfl_sync(lanes, detail::bits_as<Word>(value), lane));
}
template <class T>
SIMT T Thread::shuffle_up(T value, int by, std::uint32_t lanes, SourceLocation) const {
  using Word = detail::Word<T>;
  return detail::bits_as<T>(__shfl_up_sync(lanes, detail::bits_as<Word>(value), unsigned(by)));
}
template <class T>
SIMT T Thread::shuffle_down(T value, int by, std::uint32_t lanes, SourceLocation) const {
  using Word = detail::Word<T>;
  return detail::bits_as<T>(__shfl_down_sync(lanes, detail::bits_as<Word>(value), unsigned(by)));
}
template <class T>
SIMT T Thread::shuffle_xor(T value, int mask, std::uint32_t lanes, SourceLocation) const {
  using Word = detail::Word<T>;
  return detail::bits_as<T>(__shfl_xor_sync(lanes, detail::bits_as<Word>(value), mask));
}
SIMT bool Thread::any(bool predicate, std::uint32_t lanes, SourceLocation) const {
  return __any_sync(lanes, predicate) != 0;
}
SIMT bool Thread::all(bool predicate, std::uint32_t lanes, SourceLocation) const {
  return __all_sync(lanes, predicate) != 0;
}
SIMT std::uint32_t Thread::ballot(bool predicate, std::uint32_t lanes, SourceLocation) const {
  return __ballot_sync(lanes, predicate);
}
template <class T>
SIMT std::uint32_t Thread::match_any(T value, std::uint32_t lanes, SourceLocation) const {
  return __match_any_sync(lanes, detail::bits_as<detail::Word<T>>(value));
}
template <class T>
SIMT std::uint32_t Thread::match_all(T value, std::uint32_t lanes, SourceLocation) const {
  int same = 0;
  return __match_all_sync(lanes, detail::bits_as<detail::Word<T>>(value), &same);
}

// Two's complement addition is the same for signed and unsigned, and only the unsigned 64-bit form exists.
template <class T>
SIMT T Thread::atomic_add(T* address, T value) const {
  if constexpr (std::is_floating_point_v<T>) {
    return atomicAdd(address, value);
  } else {
    using Word = detail::Word<T>;
    return static_cast<T>(atomicAdd(reinterpret_cast<Word*>(address), static_cast<Word>(value)));
  }
}
template <class T>
SIMT T Thread::atomic_min(T* address, T value) const {
  static_assert(std::is_integral_v<T>);
  return static_cast<T>(atomicMin(detail::carrier(address), static_cast<detail::Carrier<T>>(value)));
}
template <class T>
SIMT T Thread::atomic_max(T* address, T value) const {
  static_assert(std::is_integral_v<T>);
  return static_cast<T>(atomicMax(detail::carrier(address), static_cast<detail::Carrier<T>>(value)));
}
template <class T>
SIMT T Thread::atomic_exchange(T* address, T value) const {
  using Word = detail::Word<T>;
  return detail::bits_as<T>(atomicExch(reinterpret_cast<Word*>(address), detail::bits_as<Word>(value)));
}
template <class T>
SIMT T Thread::atomic_cas(T* address, T expected, T value) const {
  using Word = detail::Word<T>;
  return detail::bits_as<T>(atomicCAS(reinterpret_cast<Word*>(address), detail::bits_as<Word>(expected),
                                      detail::bits_as<Word>(value)));
}
SIMT void Thread::fence() const { __threadfence(); }

SIMT Bytes16 Thread::load16(const void* address, SourceLocation) const {
  const uint4 v = *static_cast<const uint4*>(address);
  return {{v.x, v.y, v.z, v.w}};
}
SIMT void Thread::store16(void* address, const Bytes16& value, SourceLocation) const {
  *static_cast<uint4*>(address) = make_uint4(value.word[0], value.word[1], value.word[2], value.word[3]);
}

#else

SIMT Index3 Thread::index() const { std::abort(); }
SIMT Index3 Thread::block() const { std::abort(); }
SIMT Index3 Thread::size() const { std::abort(); }
SIMT Index3 Thread::grid() const { std::abort(); }
SIMT int Thread::rank() const { std::abort(); }
SIMT int Thread::lane() const { std::abort(); }
SIMT int Thread::warp() const { std::abort(); }
SIMT void Thread::sync(SourceLocation) const { std::abort(); }
SIMT void Thread::sync_warp(std::uint32_t, SourceLocation) const { std::abort(); }
template <class T>
SIMT T Thread::shuffle(T, int, std::uint32_t, SourceLocation) const {
  std::abort();
}
template <class T>
SIMT T Thread::shuffle_up(T, int, std::uint32_t, SourceLocation) const {
  std::abort();
}
template <class T>
SIMT T Thread::shuffle_down(T, int, std::uint32_t, SourceLocation) const {
  std::abort();
}
template <class T>
SIMT T Thread::shuffle_xor(T, int, std::uint32_t, SourceLocation) const {
  std::abort();
}
SIMT bool Thread::any(bool, std::uint32_t, SourceLocation) const { std::abort(); }
SIMT bool Thread::all(bool, std::uint32_t, SourceLocation) const { std::abort(); }
SIMT std::uint32_t Thread::ballot(bool, std::uint32_t, SourceLocation) const { std::abort(); }
template <class T>
SIMT std::uint32_t Thread::match_any(T, std::uint32_t, SourceLocation) const {
  std::abort();
}
template <class T>
SIMT std::uint32_t Thread::match_all(T, std::uint32_t, SourceLocation) const {
  std::abort();
}
template <class T>
SIMT T Thread::atomic_add(T*, T) const {
  std::abort();
}
template <class T>
SIMT T Thread::atomic_min(T*, T) const {
  std::abort();
}
template <class T>
SIMT T Thread::atomic_max(T*, T) const {
  std::abort();
}
template <class T>
SIMT T Thread::atomic_exchange(T*, T) const {
  std::abort();
}
template <class T>
SIMT T Thread::atomic_cas(T*, T, T) const {
  std::abort();
}
SIMT void Thread::fence() const { std::abort(); }
SIMT Bytes16 Thread::load16(const void*, SourceLocation) const { std::abort(); }
SIMT void Thread::store16(void*, const Bytes16&, SourceLocation) const { std::abort(); }

#endif

}  // namespace TESSERA_UNIT
}  // namespace tessera
