// SPDX-License-Identifier: Apache-2.0
// Numbers of any element to multiply, for tests of calls.
#pragma once
#include <cmath>
#include <cstdint>
#include <type_traits>
#include <vector>
#include "tessera/core/element.hpp"
#include "tessera/core/random.hpp"

namespace tessera::matmul {

// Normal; of whole numbers the nearest to 20 times as much.
template <class T>
std::vector<T> drawn(std::int64_t count, std::uint64_t seed) {
  std::vector<T> out(static_cast<std::size_t>(count));
  Random random(seed);
  constexpr bool whole = std::is_integral_v<T>;
  for (T& x : out)
    store_from_double(element_of<T>, &x, whole ? std::round(20 * random.normal()) : random.normal());
  return out;
}

}  // namespace tessera::matmul
