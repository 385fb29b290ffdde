// SPDX-License-Identifier: Apache-2.0
// An array in memory owned by others, the host's or a device's: an address, extents, strides. A transposed
// matrix is a view with its strides exchanged; nothing is copied.
#pragma once
#include <cstdint>
#include "tessera/core/device/thread.hpp"

namespace tessera {
inline namespace TESSERA_UNIT {

template <class T, int rank>
struct View {
  T* data = nullptr;  // null: an optional array that was not given
  std::int64_t extent[unsigned{rank}] = {};
  std::int64_t stride[unsigned{rank}] = {};  // in elements

  template <class... Index>
  SIMT T& operator()(Index... index) const {
    static_assert(sizeof...(Index) == rank);
    const std::int64_t at[] = {index...};
    std::int64_t offset = 0;
    for (int d = 0; d < rank; ++d) offset += at[d] * stride[d];
    return data[offset];
  }

  SIMT std::int64_t rows() const { return extent[0]; }
  SIMT std::int64_t cols() const { return extent[rank - 1]; }
};

template <class T>
using Matrix = View<T, 2>;

}  // namespace TESSERA_UNIT
}  // namespace tessera
