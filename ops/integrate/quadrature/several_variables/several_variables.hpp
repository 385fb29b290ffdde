// SPDX-License-Identifier: Apache-2.0
// Integrals over several variables, by a rule or by `auto`.
//
// `auto` lets rules of two kinds work in turns, each with more evaluations in every turn: adaptive cubature
// (for two or three variables also tanh-sinh on each axis), and points scattered over the box (quasi-random;
// VEGAS for many variables). The integral has converged when one rule meets the tolerance and a rule of the
// other kind agrees with it within its own error. This is an error estimate, not a proof: it does not cover
// features that neither kind samples, such as a peak between all points.
#pragma once
#include "../scattered/box.hpp"
#include "../scattered/vegas.hpp"

namespace tessera::quadrature {

inline constexpr Tolerance usual_cubature_tolerance{.relative = 1e-6, .absolute = 0};
inline constexpr Limits usual_cubature_limits{
    .evaluations = 100'000'000, .seconds = usual_seconds, .regions = 1 << 20};

// `rule`: auto, genz_malik (2 to 12 variables), gauss_kronrod and tanh_sinh (products; 2 or 3 variables),
// quasi_random (up to 21) or vegas (up to 32). An axis whose limits are exchanged changes the sign. threads
// 0: all. Throws Error for a box without axes or with more than 32, for limits that are no numbers,
// tolerances below 0, `points` (which are for one variable), and rules that do not fit. `by_regions` and
// `engine`: compute regions and VEGAS's samples on a device other than the CPU.
Answer integrate_several(const std::string& rule, const BatchIntegrand& f, const Box& box,
                         const Tolerance& tolerance = usual_cubature_tolerance,
                         const Limits& limits = usual_cubature_limits, std::span<const double> points = {},
                         int threads = 0, std::uint64_t seed = 1, const ByRegions& by_regions = {},
                         const VegasEngineFor& engine = {});

}  // namespace tessera::quadrature
