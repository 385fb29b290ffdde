// SPDX-License-Identifier: Apache-2.0
#include "ops/integrate/quadrature/sobol.hpp"
#include <array>

namespace tessera::quadrature {
namespace {

// A primitive polynomial over two elements, its inner coefficients as bits, and the first odd numbers.
struct Start {
  int degree;
  std::uint32_t inner;
  std::uint32_t first[7];
};

// Chosen by Joe and Kuo for good projections onto two axes.
constexpr Start starts[most_sobol_dimensions - 1] = {
    {1, 0, {1}},
    {2, 1, {1, 3}},
    {3, 1, {1, 3, 1}},
    {3, 2, {1, 1, 1}},
    {4, 1, {1, 1, 3, 3}},
    {4, 4, {1, 3, 5, 13}},
    {5, 2, {1, 1, 5, 5, 17}},
    {5, 4, {1, 1, 5, 5, 5}},
    {5, 7, {1, 1, 7, 11, 19}},
    {5, 11, {1, 1, 5, 1, 1}},
    {5, 13, {1, 1, 1, 3, 11}},
    {5, 14, {1, 3, 5, 5, 31}},
    {6, 1, {1, 3, 3, 9, 7, 49}},
    {6, 13, {1, 1, 1, 15, 21, 21}},
    {6, 16, {1, 3, 1, 13, 27, 49}},
    {6, 19, {1, 1, 1, 15, 7, 5}},
    {6, 22, {1, 3, 1, 15, 13, 25}},
    {6, 25, {1, 1, 5, 5, 19, 61}},
    {7, 1, {1, 3, 7, 11, 23, 15, 103}},
    {7, 4, {1, 3, 7, 13, 13, 15, 69}},
};

using Directions = std::array<std::uint32_t, 32>;

constexpr Directions directions_of(int axis) {
  Directions out{};
  if (axis == 0) {
    for (int b = 0; b < 32; ++b) out[static_cast<std::size_t>(b)] = 1u << (31 - b);
    return out;
  }
  const Start& start = starts[axis - 1];
  for (int b = 0; b < 32; ++b) {
    const auto at = static_cast<std::size_t>(b);
    if (b < start.degree) {
      out[at] = start.first[b] << (31 - b);
      continue;
    }
    const auto back = static_cast<std::size_t>(b - start.degree);
    out[at] = out[back] ^ (out[back] >> start.degree);
    for (int k = 1; k < start.degree; ++k)
      if ((start.inner >> (start.degree - 1 - k) & 1) != 0) out[at] ^= out[static_cast<std::size_t>(b - k)];
  }
  return out;
}

constexpr auto all_directions() {
  std::array<Directions, most_sobol_dimensions> out{};
  for (int axis = 0; axis < most_sobol_dimensions; ++axis)
    out[static_cast<std::size_t>(axis)] = directions_of(axis);
  return out;
}

constexpr auto directions = all_directions();

std::uint32_t reversed(std::uint32_t x) {
  x = (x >> 1 & 0x55555555u) | (x & 0x55555555u) << 1;
  x = (x >> 2 & 0x33333333u) | (x & 0x33333333u) << 2;
  x = (x >> 4 & 0x0f0f0f0fu) | (x & 0x0f0f0f0fu) << 4;
  return __builtin_bswap32(x);
}

std::uint32_t hashed(std::uint64_t seed, std::uint32_t axis) {
  std::uint64_t z = seed * 0x9e3779b97f4a7c15u + (axis + 1) * 0xd1b54a32d192ed03u;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return static_cast<std::uint32_t>(z >> 32 ^ z);
}

// Each bit is turned over or not as the bits above it say: a nested scrambling, by a hash whose bits
// depend on lower bits alone, applied to the bits in reverse.
std::uint32_t scrambled(std::uint32_t x, std::uint32_t seed) {
  x = reversed(x);
  x ^= x * 0x3d20adeau;
  x += seed;
  x *= (seed >> 16) | 1;
  x ^= x * 0x05526c56u;
  x ^= x * 0x53a22864u;
  return reversed(x);
}

}  // namespace

// From one index to the next all bits up to the lowest 0 are turned over.
void sobol(std::uint32_t first, std::size_t count, int axis, std::uint64_t seed, double* out) {
  const Directions& v = directions[static_cast<std::size_t>(axis)];
  const std::uint32_t scramble = hashed(seed, static_cast<std::uint32_t>(axis));
  std::uint32_t bits = 0, up_to[32];
  for (std::size_t b = 0; b < 32; ++b) {
    if ((first >> b & 1) != 0) bits ^= v[b];
    up_to[b] = b == 0 ? v[0] : up_to[b - 1] ^ v[b];
  }
  for (std::size_t i = 0; i < count; ++i) {
    out[i] = (scrambled(bits, scramble) + 0.5) * 0x1p-32;
    if (++first != 0) bits ^= up_to[__builtin_ctz(first)];
  }
}

double sobol(std::uint32_t index, int axis, std::uint64_t seed) {
  double out = 0;
  sobol(index, 1, axis, seed, &out);
  return out;
}

}  // namespace tessera::quadrature
