// SPDX-License-Identifier: Apache-2.0
// Random operands of any element, and --compute words, for tests.
#pragma once
#include <cmath>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>
#include "tessera/core/array/element.hpp"
#include "tessera/core/array/random.hpp"

namespace tessera::matmul {

// Normally distributed; integers are 20 times as large, rounded to nearest.
template <class T>
std::vector<T> drawn(std::int64_t count, std::uint64_t seed) {
  std::vector<T> out(static_cast<std::size_t>(count));
  Random random(seed);
  constexpr bool whole = std::is_integral_v<T>;
  for (T& x : out)
    store_from_double(element_of<T>, &x, whole ? std::round(20 * random.normal()) : random.normal());
  return out;
}

// The word of --compute that an f32 rung requires.
inline std::string compute_for(const std::string& variant) {
  const bool waits = variant == "tf32x3" || variant == "bf16x6" || variant == "f16x3";
  return waits ? variant : "strict";
}

}  // namespace tessera::matmul
