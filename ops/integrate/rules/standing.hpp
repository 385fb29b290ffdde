// SPDX-License-Identifier: Apache-2.0
// Narrow peaks of several variables that stand on something: where f is 1 everywhere and 2 in one place, the
// largest |f| shows no width at which it has fallen to half, and points lie beside the place.
// Installed: for programs.
#pragma once
#include <cmath>
#include <cstdint>
#include <vector>
#include "domain.hpp"

namespace tessera::quadrature {

struct Standing {
  std::vector<double> centre, width;  // of each axis
  double mass = 0;                    // of what stands out, about
  double around = 0;                  // the largest |f| that was seen some widths away

  // Whether this is the top: rules have points there once the peak is the middle of its box.
  bool holds(const std::vector<double>& place) const {
    for (std::size_t axis = 0; axis < centre.size(); ++axis)
      if (!(std::fabs(place[axis] - centre[axis]) <= width[axis])) return false;
    return true;
  }
};

// How far along a direction f stands out from what it is on both sides of the place, in lengths of the box,
// as the direction is; 0 where it does not. `out_by`: becomes how much.
double standing_width(const ManyValues& f, const Box& box, const std::vector<double>& place,
                      const std::vector<double>& direction, double& out_by);

// The same of a place, or of one beside it: what begins at a jump and is over at once has its middle there.
// Moves the place there.
double standing_beside(const ManyValues& f, const Box& box, std::vector<double>& place,
                       const std::vector<double>& direction, double& out_by);

// Of these places those at which f stands out from its surroundings on two axes and more, the heaviest first;
// of the first place, where |f| is largest, on all. On others the width is all of the axis. Boxes between
// finite limits alone.
std::vector<Standing> standing_peaks(const ManyValues& f, const Box& box,
                                     const std::vector<std::vector<double>>& places,
                                     std::int64_t& evaluations);

// The part around the peak, and those beside it that make up the rest of the box. Cut beside the others,
// where there is room: of a peak that a face runs through, the part with its foot shows next to nothing.
std::vector<Box> parts_around(const Box& box, const Standing& peak, std::vector<Standing> others = {});

// The peak as a small part of the box, with its surroundings as far as it counts.
HiddenRegion region_of(const Standing& peak, const Box& box);

}  // namespace tessera::quadrature
