// SPDX-License-Identifier: Apache-2.0
// Reduces the values of all threads of a group of a warp's lanes.
#pragma once
#include "../cooperative_groups.h"

namespace cooperative_groups {

#define TESSERA_OPERATION(name, result)             \
  template <class T>                                \
  struct name {                                     \
    T operator()(T a, T b) const { return result; } \
  };
TESSERA_OPERATION(plus, a + b)
TESSERA_OPERATION(less, b < a ? b : a)
TESSERA_OPERATION(greater, a < b ? b : a)
TESSERA_OPERATION(bit_and, a& b)
TESSERA_OPERATION(bit_or, a | b)
TESSERA_OPERATION(bit_xor, a ^ b)
#undef TESSERA_OPERATION

template <class Group, class T, class Operation>
TESSERA_DEVICE T reduce(const Group& group, T value, Operation join, CallSite at = CallSite::current()) {
  if constexpr (sizeof(T) <= 8) {
    return tessera_cuda::reduce_lanes(group.lanes(), value, join, at);
  } else {
    static_assert(sizeof(T) <= 8, "lanes exchange values of at most 8 bytes");
  }
}

// Reduces warp by warp, then over the results of the tile's warps in memory.
template <unsigned Size, class Parent, class T, class Operation>
TESSERA_DEVICE T reduce(const thread_block_tile<Size, Parent, false>& tile, T value, Operation join,
                        CallSite at = CallSite::current()) {
  static_assert(sizeof(T) <= 8, "warps exchange values of at most 8 bytes");
  const T of_warp = tessera_cuda::reduce_lanes(details::warp_lanes(), value, join, at);
  T* const first = reinterpret_cast<T*>(tile.memory + tile.meta_group_rank() * (Size / 32));
  constexpr unsigned stride = 8 / sizeof(T);
  if (details::lane() == 0) first[tile.thread_rank() / 32 * stride] = of_warp;
  tile.sync(at);
  T out = first[0];
  for (unsigned warp = 1; warp < Size / 32; ++warp) out = join(out, first[warp * stride]);
  tile.sync(at);
  return out;
}

}  // namespace cooperative_groups
