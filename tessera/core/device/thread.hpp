// SPDX-License-Identifier: Apache-2.0
// One thread of a grid, as a kernel sees it.
//
// The same type serves nvcc's device pass and the CPU executor: a kernel reads like CUDA, is not a template
// on its target, and has no #ifdef. Declarations are the same in both passes; the bodies are in
// thread_cuda.hpp (device) and thread_simt.hpp (executor), chosen below.
#pragma once
#include <cstdint>
#include "tessera/core/text/source_location.hpp"

#if defined(__CUDACC__)
#define SIMT __host__ __device__ __forceinline__
#if defined(__CUDA_ARCH__)
#define SIMT_UNROLL _Pragma("unroll")
#define SIMT_NO_UNROLL _Pragma("unroll 1")
#else  // the host compiler does not know these pragmas
#define SIMT_UNROLL
#define SIMT_NO_UNROLL
#endif
#else
// A traced access is identified by the line of the kernel that it was inlined into.
#if defined(TESSERA_TRACED)
#define SIMT inline __attribute__((always_inline))
#else
#define SIMT inline
#endif
#define SIMT_UNROLL _Pragma("GCC unroll 64")
#define SIMT_NO_UNROLL
#endif

// nvcc, the plain executor and the traced executor compile the same kernels. Each uses its own inline
// namespace; otherwise the linker would merge their functions.
#if defined(__CUDACC__)
#define TESSERA_UNIT unit_cuda
#elif defined(TESSERA_TRACED)
#define TESSERA_UNIT unit_traced
#else
#define TESSERA_UNIT unit_plain
#endif

namespace tessera {

struct Index3 {
  int x = 1, y = 1, z = 1;
};

// A grid's shape. 64-bit, so that a grid too large for the device is refused, not truncated.
struct Launch {
  struct Grid {
    std::int64_t x = 1, y = 1, z = 1;
  } grid;
  Index3 block;
  std::int64_t blocks() const { return grid.x * grid.y * grid.z; }
  std::int64_t threads() const { return std::int64_t{block.x} * block.y * block.z; }
};

// 16 bytes, loaded and stored by one 128-bit access.
struct alignas(16) Bytes16 {
  std::uint32_t word[4];
};

inline namespace TESSERA_UNIT {

struct Thread {
  static constexpr int warp_size = 32;
  static constexpr std::uint32_t all_lanes = 0xffffffffu;

  SIMT Index3 index() const;  // the thread's index in its block
  SIMT Index3 block() const;  // the block's index in the grid
  SIMT Index3 size() const;   // the block's size in threads
  SIMT Index3 grid() const;   // the grid's size in blocks
  SIMT int rank() const;      // the thread's linear index in its block, x fastest
  SIMT int lane() const;      // the thread's index in its warp
  SIMT int warp() const;      // the warp's index in its block

  // `location` is the caller's place, which the executor names in a deadlock.
  SIMT void sync(SourceLocation location = SourceLocation::current()) const;  // barrier of the block
  // Waits for the named lanes of the warp.
  SIMT void sync_warp(std::uint32_t lanes = all_lanes,
                      SourceLocation location = SourceLocation::current()) const;

  // Collectives of a warp: every lane named in `lanes` must call. T is 4 or 8 bytes wide.
  template <class T>
  SIMT T shuffle(T value, int lane, std::uint32_t lanes = all_lanes,
                 SourceLocation location = SourceLocation::current()) const;
  template <class T>
  SIMT T shuffle_up(T value, int by, std::uint32_t lanes = all_lanes,
                    SourceLocation location = SourceLocation::current()) const;
  template <class T>
  SIMT T shuffle_down(T value, int by, std::uint32_t lanes = all_lanes,
                      SourceLocation location = SourceLocation::current()) const;
  template <class T>
  SIMT T shuffle_xor(T value, int mask, std::uint32_t lanes = all_lanes,
                     SourceLocation location = SourceLocation::current()) const;
  SIMT bool any(bool predicate, std::uint32_t lanes = all_lanes,
                SourceLocation location = SourceLocation::current()) const;
  SIMT bool all(bool predicate, std::uint32_t lanes = all_lanes,
                SourceLocation location = SourceLocation::current()) const;
  SIMT std::uint32_t ballot(bool predicate, std::uint32_t lanes = all_lanes,
                            SourceLocation location = SourceLocation::current()) const;
  // Returns the lanes that hold the same value as this one.
  template <class T>
  SIMT std::uint32_t match_any(T value, std::uint32_t lanes = all_lanes,
                               SourceLocation location = SourceLocation::current()) const;
  // Returns all named lanes if every one holds the same value, else none.
  template <class T>
  SIMT std::uint32_t match_all(T value, std::uint32_t lanes = all_lanes,
                               SourceLocation location = SourceLocation::current()) const;

  // Atomics on global or shared memory; each returns the old value. T: int32, uint32, uint64, float, double
  // (minimum, maximum: integers only).
  template <class T>
  SIMT T atomic_add(T* address, T value) const;
  template <class T>
  SIMT T atomic_min(T* address, T value) const;
  template <class T>
  SIMT T atomic_max(T* address, T value) const;
  template <class T>
  SIMT T atomic_exchange(T* address, T value) const;
  template <class T>
  SIMT T atomic_cas(T* address, T expected, T value) const;
  SIMT void fence() const;  // orders this thread's accesses as seen by the whole grid

  // One 128-bit access, on the GPU and in the traced executor. The address is a multiple of 16.
  SIMT Bytes16 load16(const void* address, SourceLocation location = SourceLocation::current()) const;
  SIMT void store16(void* address, const Bytes16& value,
                    SourceLocation location = SourceLocation::current()) const;
};

}  // namespace TESSERA_UNIT
}  // namespace tessera

#if defined(__CUDACC__)
#include "tessera/core/device/thread_cuda.hpp"
#else
#include "tessera/core/device/thread_simt.hpp"
#endif
