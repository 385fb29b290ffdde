// SPDX-License-Identifier: Apache-2.0
// One value from those of all threads of a group of a warp's lanes.
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
TESSERA_DEVICE T reduce(const Group& group, T value, Operation join, Place at = Place::current()) {
  if constexpr (sizeof(T) <= 8) {
    return tessera_cuda::reduce_lanes(group.lanes(), value, join, at);
  } else {
    static_assert(sizeof(T) <= 8, "lanes exchange values of at most 8 bytes");
  }
}

}  // namespace cooperative_groups
