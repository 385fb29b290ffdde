// SPDX-License-Identifier: Apache-2.0
// Quotients of integers, rounded up.
#pragma once
#include <type_traits>

namespace tessera {

template <class A, class B>
constexpr std::common_type_t<A, B> ceil_div(A whole, B part) {
  using T = std::common_type_t<A, B>;
  return (static_cast<T>(whole) + static_cast<T>(part) - 1) / static_cast<T>(part);
}

// Returns the smallest multiple of `unit` that is not less than `value`.
template <class A, class B>
constexpr std::common_type_t<A, B> round_up(A value, B unit) {
  return ceil_div(value, unit) * unit;
}

}  // namespace tessera
