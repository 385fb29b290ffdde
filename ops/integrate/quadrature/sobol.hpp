// SPDX-License-Identifier: Apache-2.0
// Sobol' points, each computed from its number alone, so that any thread or device may have any part of
// them, and scrambled (Owen) by hashing, so that repetitions with other seeds give honest error bars.
#pragma once
#include <cstddef>
#include <cstdint>

namespace tessera::quadrature {

inline constexpr int most_sobol_dimensions = 21;

// Coordinate `axis` of point `index` < 2^32 of the repetition that `seed` names, in (0, 1).
double sobol(std::uint32_t index, int axis, std::uint64_t seed);

// Coordinates of points first … first + count - 1 on one axis.
void sobol(std::uint32_t first, std::size_t count, int axis, std::uint64_t seed, double* out);

}  // namespace tessera::quadrature
