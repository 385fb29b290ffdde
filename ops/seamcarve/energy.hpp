// SPDX-License-Identifier: Apache-2.0
// What a pixel costs the seam that takes it: docs/seamcarve.md has the formulas, in whole numbers, so that
// every device finds the same seams.
#pragma once
#include <cstdint>
#include <type_traits>
#include "tessera/core/thread.hpp"

namespace tessera::seamcarve {

enum class Energy : std::uint8_t { gradient, laplacian, forward };

// A pixel as a seam sees it: 14 bits of grey, and above them what the masks say of it.
using Pixel = std::uint16_t;
inline constexpr int grey_bits = 14;
enum Mark : std::uint8_t { plain = 0, kept = 1, unwanted = 2 };

inline constexpr std::int32_t beyond = 2000000000;  // dearer than any seam; what is added to it still fits

inline namespace TESSERA_UNIT {

SIMT std::int32_t grey_of(Pixel pixel) { return pixel & ((1 << grey_bits) - 1); }
SIMT Pixel marked(std::int32_t grey, unsigned mark) { return static_cast<Pixel>(grey | mark << grey_bits); }

// A sample's share of the grey value: of 16 bits the upper 12.
template <class T>
SIMT std::int32_t grey_share(std::int32_t sum) {
  return std::is_same_v<T, std::uint16_t> ? sum >> 4 : sum;
}

SIMT std::int32_t distance(std::int32_t a, std::int32_t b) { return a < b ? b - a : a - b; }

// Grey values of a pixel and of those beside it; beyond an edge the pixel itself.
struct Around {
  std::int32_t left, here, right, above, below;
};

template <Energy energy>
SIMT std::int32_t own_energy(const Around& a) {
  if constexpr (energy == Energy::gradient) return distance(a.left, a.right) + distance(a.above, a.below);
  else if constexpr (energy == Energy::laplacian)
    return distance(a.left + a.right + a.above + a.below, 4 * a.here);
  else return distance(a.left, a.right);
}

SIMT std::int32_t own_energy(Energy energy, const Around& a) {
  if (energy == Energy::gradient) return own_energy<Energy::gradient>(a);
  if (energy == Energy::laplacian) return own_energy<Energy::laplacian>(a);
  return own_energy<Energy::forward>(a);
}

SIMT std::int32_t bias_of(Pixel pixel, std::int32_t bias) {
  const int mark = pixel >> grey_bits;
  return mark == plain ? 0 : mark == kept ? bias : -bias;
}

// The three ways to come from the row above, the leftmost of the cheapest.
struct Way {
  std::int32_t cost;
  std::int32_t step;  // −1, 0 or 1
};

SIMT Way cheapest(std::int32_t left, std::int32_t above, std::int32_t right) {
  Way out{left, -1};
  if (above < out.cost) out = {above, 0};
  if (right < out.cost) out = {right, 1};
  return out;
}

// With what the forward energy adds for the edges that a way leaves behind.
SIMT Way cheapest_into(Energy energy, const Around& a, std::int32_t left, std::int32_t above,
                       std::int32_t right) {
  if (energy != Energy::forward) return cheapest(left, above, right);
  return cheapest(left + distance(a.above, a.left), above, right + distance(a.above, a.right));
}

// Among equal costs the leftmost column has the least key.
SIMT std::uint64_t key_of(std::int32_t cost, std::int32_t column) {
  return std::uint64_t{static_cast<std::uint32_t>(cost) ^ 0x80000000u} << 32 |
         static_cast<std::uint32_t>(column);
}
SIMT std::int32_t column_of(std::uint64_t key) { return static_cast<std::int32_t>(key & 0xffffffffu); }

// The pixel that doubling a seam puts behind one of its own.
template <class T>
SIMT T between(T a, T b) {
  return static_cast<T>((std::int32_t{a} + std::int32_t{b} + 1) >> 1);
}

}  // namespace TESSERA_UNIT
}  // namespace tessera::seamcarve
