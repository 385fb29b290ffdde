// SPDX-License-Identifier: Apache-2.0
// Integrals over several variables: the choice of the rule, and the check by another.
// Installed: for programs.
#pragma once
#include "domain.hpp"
#include "far_peaks.hpp"
#include "standing.hpp"

namespace tessera::quadrature {

inline constexpr Tolerance usual_cubature_tolerance{.relative = 1e-6, .absolute = 0};
inline constexpr Limits usual_cubature_limits{.evaluations = 100'000'000, .seconds = 20, .regions = 1 << 20};

// Finds the largest |f|, and draws the axes together around it where it is narrow.
struct Explored {
  std::vector<Axis> axes;
  std::vector<Axis> whole;  // the same without parts, for who cannot have them
  bool zeros_only = false;
  std::vector<double> gap;  // a point in a part of the box where f has no value
  std::string words;
  std::vector<Standing> standing;  // peaks on what surrounds them
  double typical = 0;              // |f| that half of the scattered points exceed
  bool drawn = false;              // all axes are drawn together
  bool hurried = false;            // too few evaluations were left to look for these:
  std::vector<FarPeak> far;        // where there are several on axes without end, many widths apart
};
Explored explore(const ManyValues& f, const Box& box, const Limits& limits, std::int64_t& evaluations);

// Throws Error for a box without axes or with more than 32, for limits that are no numbers, and for
// tolerances below 0. An axis whose limits are exchanged counts negatively.
Answer automatic_cubature(const ManyValues& f, const Box& box,
                          const Tolerance& tolerance = usual_cubature_tolerance,
                          const Limits& limits = usual_cubature_limits, int threads = 0,
                          const ByRegions& by_regions = {});

}  // namespace tessera::quadrature
