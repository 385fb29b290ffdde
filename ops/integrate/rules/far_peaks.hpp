// SPDX-License-Identifier: Apache-2.0
// Peaks far from each other along axes that have no end. A rule's points are drawn together around one place
// there, and thin out as the inverse square of the distance from it: a bell of width 1 thirty widths away is
// met by none of them, and by no other rule's that is drawn together at the same place.
// Installed: for programs.
#pragma once
#include <cstdint>
#include <vector>
#include "domain.hpp"

namespace tessera::quadrature {

struct FarPeak {
  std::vector<double> centre,
      width;          // of each axis: where |f| is largest, and how far away it is half of that
  double height = 0;  // |f| there
};

// The tops of |f| that count beside the heaviest one, whatever their distance; none where fewer than two lie
// many widths apart on an axis without end. Looked for at points whose distances from 0, or from the limit,
// grow by factors, and at `told` ones, from which |f| falls on the way to all tops that are known. Adds to
// `evaluations`; `hurried` becomes true where a share of the limits was too little.
std::vector<FarPeak> far_peaks(const ManyValues& f, const Box& box,
                               const std::vector<std::vector<double>>& told, const Limits& limits,
                               std::int64_t& evaluations, bool& hurried);

// What the integral of |f| over the highest of them is at least, wherever it lies, if it falls on each axis
// no faster than evenly to half of its height: less than that no rule may say that the whole one is. 0: none
// was found. Adds to `evaluations`.
double mass_of_highest(const ManyValues& f, const Box& box, const Limits& limits, std::int64_t& evaluations);

// A rule's points thin out with the distance from the axes' middles, which a peak far out need not know of.
// On axes without end a claim, or what is called roundoff, is doubtful where the highest peak holds more than
// all that the rule saw.
void look_far_out(Answer& answer, const ManyValues& f, const Box& box, Limits limits);

// The peak as a small part of the box; what lies beside it is many widths away.
HiddenRegion region_of(const FarPeak& peak, const Box& box);

}  // namespace tessera::quadrature
