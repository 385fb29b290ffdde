// SPDX-License-Identifier: Apache-2.0
// Enough of CUDA for some kernels to be compiled by the host's compiler and run on the executor: one OS
// thread, one block at a time.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>
#include <stdexcept>
#include <vector>
#include "tessera/core/device/thread.hpp"

#define __device__
#define __forceinline__ inline
#define __shared__ static
#define __global__
#define __grid_constant__
#define __launch_bounds__(...)

namespace tessera::emulated {

struct ThreadNumber {
  struct {
    operator unsigned() const { return static_cast<unsigned>(Thread{}.index().x); }
  } x;
};
struct BlockNumber {
  struct {
    operator unsigned() const { return static_cast<unsigned>(Thread{}.block().x); }
  } x;
  struct {
    operator unsigned() const { return static_cast<unsigned>(Thread{}.block().y); }
  } y;
  struct {
    operator unsigned() const { return static_cast<unsigned>(Thread{}.block().z); }
  } z;
};

// What loads and copies may touch; empty: anything.
struct Range {
  const void *first, *end;
};
inline std::vector<Range> readable;

inline void check_readable(const void* from, std::size_t bytes) {
  const void* const end = static_cast<const char*>(from) + bytes;
  const auto holds = [&](const Range& r) {
    return !std::less<>()(from, r.first) && !std::less<>()(r.end, end);
  };
  if (!readable.empty() && std::none_of(readable.begin(), readable.end(), holds))
    throw std::logic_error("a load from outside");
}

// One of each warp's, by lane: what its lanes show each other.
template <class T>
T (&shown())
[32] {
  static T all[32][32];
  return all[Thread{}.warp()];
}

}  // namespace tessera::emulated

inline constexpr tessera::emulated::ThreadNumber threadIdx{};
inline constexpr tessera::emulated::BlockNumber blockIdx{};

struct alignas(16) uint4 {
  unsigned x, y, z, w;
};

inline void __syncthreads() { tessera::Thread{}.sync(); }
inline void __syncwarp() { tessera::Thread{}.sync_warp(); }
inline void __threadfence() { tessera::Thread{}.fence(); }
inline int __shfl_sync(unsigned lanes, int value, int lane) {
  return tessera::Thread{}.shuffle(value, lane, lanes);
}
template <class T>
void __stcg(T* to, T value) {
  *to = value;
}
template <class T>
T __ldcg(const T* from) {
  return *from;
}
inline unsigned atomicInc(std::uint32_t* counter, unsigned most) {
  const unsigned before = *counter;
  *counter = before >= most ? 0 : before + 1;
  return before;
}

using std::max;
using std::min;

template <class T>
T __ldg(const T* from) {
  using namespace tessera::emulated;
  if (reinterpret_cast<std::uintptr_t>(from) % sizeof(T) != 0)
    throw std::logic_error("a load from an address that is not aligned");
  check_readable(from, sizeof(T));
  T out;
  std::memcpy(&out, from, sizeof out);
  return out;
}
inline std::uint32_t __funnelshift_r(std::uint32_t low, std::uint32_t high, std::uint32_t bits) {
  return static_cast<std::uint32_t>((std::uint64_t{high} << 32 | low) >> (bits & 31));
}
inline std::uint32_t __byte_perm(std::uint32_t low, std::uint32_t high, std::uint32_t selector) {
  const std::uint64_t both = std::uint64_t{high} << 32 | low;
  std::uint32_t out = 0;
  for (int i = 0; i < 4; ++i)
    out |= static_cast<std::uint32_t>(both >> (selector >> (4 * i) & 7) * 8 & 0xff) << (8 * i);
  return out;
}
