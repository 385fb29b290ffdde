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

// Without masks costs are 32 bits. With them first come the pixels to keep that a way crosses, then those to
// go, then energies: one number of 64 bits, in which none of the three can outweigh the one before it.
using Plain = std::int32_t;
using Masked = std::int64_t;
inline constexpr std::int32_t longest_masked = 65535;
inline constexpr Masked unwanted_weight = Masked{1} << 30, kept_weight = Masked{1} << 46;
static_assert(longest_masked * unwanted_weight + (Masked{1} << 29) < kept_weight);

// Dearer than any seam; what is added to it still fits.
template <class Sum>
inline constexpr Sum beyond = 2000000000;
template <>
inline constexpr Masked beyond<Masked> = Masked{1} << 62;
static_assert(longest_masked * kept_weight < beyond<Masked>);

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

// What a pixel's mark adds to its energy.
template <class Sum>
SIMT Sum weight_of(int mark) {
  if constexpr (sizeof(Sum) == sizeof(Plain)) return 0;
  else return mark == plain ? 0 : mark == kept ? kept_weight : -unwanted_weight;
}
template <class Sum>
SIMT Sum with_mark(std::int32_t energy, Pixel pixel) {
  return energy + weight_of<Sum>(pixel >> grey_bits);
}

// The three ways to come from the row above, the leftmost of the cheapest.
template <class Sum>
struct Way {
  Sum cost;
  std::int32_t step;  // −1, 0 or 1
};

template <class Sum>
SIMT Way<Sum> cheapest(Sum left, Sum above, Sum right) {
  Way<Sum> out{left, -1};
  if (above < out.cost) out = {above, 0};
  if (right < out.cost) out = {right, 1};
  return out;
}

// With what the forward energy adds for the edges that a way leaves behind.
template <class Sum>
SIMT Way<Sum> cheapest_into(Energy energy, const Around& a, Sum left, Sum above, Sum right) {
  if (energy != Energy::forward) return cheapest(left, above, right);
  return cheapest<Sum>(left + distance(a.above, a.left), above, right + distance(a.above, a.right));
}

// A place in a row; of equal costs the leftmost is the lesser.
template <class Sum>
struct Place {
  Sum cost;
  std::int32_t column;
};
template <class Sum>
SIMT Place<Sum> lesser_of(const Place<Sum>& a, const Place<Sum>& b) {
  return b.cost < a.cost || (b.cost == a.cost && b.column < a.column) ? b : a;
}

// The pixel that doubling a seam puts behind one of its own.
template <class T>
SIMT T between(T a, T b) {
  return static_cast<T>((std::int32_t{a} + std::int32_t{b} + 1) >> 1);
}

}  // namespace TESSERA_UNIT
}  // namespace tessera::seamcarve
