// SPDX-License-Identifier: Apache-2.0
// What lies nearer to the ends of the axes than any point: how f falls towards them tells how much that is.
// Rules that are cut at the same ends agree with each other, and are wrong together.
// Installed: for programs.
#pragma once
#include <cstddef>
#include <vector>
#include "answer.hpp"

namespace tessera::quadrature {

// The integral of f over all other axes, near one end of an axis: as u^(slope - 1), where u is the distance.
struct End {
  std::size_t axis;
  double x;         // where it is
  double u, share;  // a distance, and u times that integral there
  double slope;     // NaN: f fades, or it cannot be told
  double lasting;   // of a slope that weakens: what a power's would be that leaves as much; else NaN
  bool steady;      // one power describes it
  bool one_sign;
  double finest = 0;  // how near to it x has numbers, as u has it

  double beyond(double distance) const;  // the integral of what is nearer; infinite where there is none
  // Far out f may swing: then this cannot be told.
  bool diverges() const { return slope <= 0.005 && steady && one_sign && std::isfinite(x); }
};

// By three of these integrals, from far to near.
End end_of(std::size_t axis, double x, const double (&u)[3], const double (&share)[3], double one_sign,
           double all);

double beyond(const std::vector<End>& ends, double distance);

class Cube;
// The ends of all axes, by points that are scattered over the other axes: for rules without points of their
// own near the ends.
std::vector<End> ends_by_chance(Cube& cube);
// Likewise both sides of the places where axes are cut.
std::vector<End> cuts_by_chance(Cube& cube);
std::int64_t ends_evaluations(std::size_t axes);  // that it takes
// How near to an end so many scattered points come.
double scattered_reach(const Answer& answer);
// Adds what lies nearer than that; an answer that no longer meets the tolerance ends where most is left.
void charge_ends(Answer& answer, const std::vector<End>& ends, double reach, double allowed,
                 std::size_t axes);

// The place of the end that the reason is about: the one beyond which most is left.
std::vector<double> place_of(const std::vector<End>& ends, double distance, std::size_t axes);

}  // namespace tessera::quadrature
