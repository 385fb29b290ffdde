// SPDX-License-Identifier: Apache-2.0
// Enough of CUDA for a kernel of rung 12 to be compiled by the host's compiler and run on the executor: one
// OS thread, one block at a time.
#pragma once
#include <cstdint>
#include "tessera/core/thread.hpp"

#define __device__
#define __forceinline__ inline
#define __shared__ static

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
};

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
