// SPDX-License-Identifier: Apache-2.0
// Elements as doubles, quickly: the checks convert each of a large product many times.
#pragma once
#include <array>
#include <bit>
#include <memory>
#include <type_traits>
#include "tessera/core/element.hpp"

namespace tessera::matmul {

template <class T>
double widened(T value) {
  if constexpr (std::is_arithmetic_v<T>) {
    return static_cast<double>(value);
  } else if constexpr (std::is_same_v<T, bf16>) {
    return std::bit_cast<float>(static_cast<std::uint32_t>(value.bits) << 16);
  } else {
    constexpr std::size_t count = std::size_t{1} << (8 * sizeof(T));
    using Table = std::array<float, count>;
    static const std::unique_ptr<const Table> table = [] {
      auto made = std::make_unique<Table>();
      for (std::size_t i = 0; i < count; ++i)
        (*made)[i] = static_cast<float>(T{static_cast<decltype(T::bits)>(i)});
      return made;
    }();
    return (*table)[value.bits];
  }
}

}  // namespace tessera::matmul
