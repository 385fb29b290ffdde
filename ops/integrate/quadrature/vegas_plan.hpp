// SPDX-License-Identifier: Apache-2.0
// How an iteration's points are laid out, and how the grid on the axes learns.
#pragma once
#include <vector>
#include "ops/integrate/quadrature/vegas.hpp"
#include "ops/integrate/quadrature/vegas_point.hpp"

namespace tessera::quadrature {

inline constexpr std::int64_t most_vegas_cubes = std::int64_t{1} << 21;
inline constexpr std::int64_t most_vegas_points = std::int64_t{1} << 24;  // of one iteration

// Strata for so many points: some four points a cube, or more.
VegasPlan plan_of(int dimensions, const VegasIteration& requested);
std::uint32_t cubes_of(const VegasPlan& plan);

std::vector<double> even_edges(int dimensions);
// Moves the edges so that each bin weighs the same; weights as in VegasSeen.
void refine(std::vector<double>& edges, const std::vector<std::uint64_t>& weights);

}  // namespace tessera::quadrature
