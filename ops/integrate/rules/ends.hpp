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
// Near corners and edges, where several axes end at once, what lies within u of them, likewise.
struct End {
  std::size_t axis;
  double x;         // where it is
  double u, share;  // a distance, and u times that integral there
  double slope;     // NaN: f fades, or it cannot be told
  double lasting;   // of a slope that weakens: what a power's would be that leaves as much; else NaN
  bool steady;      // one power describes it
  bool one_sign;
  double finest = 0;  // how near to it x has numbers, as u has it
  struct Place {
    std::size_t axis;
    double x;
  };
  std::vector<Place> also = {};  // of a corner or an edge: all axes that end there

  double beyond(double distance) const;  // the integral of what is nearer; infinite where there is none
  // Far out f may swing: then this cannot be told.
  bool diverges() const { return falls_no_faster(2e-5); }
  // The slope is hardly known better: x^-0.9999 has an integral.
  bool may_diverge() const { return falls_no_faster(least_slope); }

 private:
  static constexpr double least_slope = 5e-4;
  bool falls_no_faster(double most) const { return slope <= most && steady && one_sign && std::isfinite(x); }
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
// Adds the corners and edges at which more is left than the ends of their axes tell, which come first in the
// list. What the cube's caps do not allow is not looked at.
void add_corners(Cube& cube, std::vector<End>& ends);
// How near to an end so many scattered points come.
double scattered_reach(const Answer& answer);
// Adds what lies nearer than that; an answer that no longer meets the tolerance ends where most is left.
void charge_ends(Answer& answer, const std::vector<End>& ends, double reach, double allowed,
                 std::size_t axes);

// Of a rule that halves regions: how many times more than it tells it has missed at most, of what was found.
// At corners of three axes and more, where |f| grows steeply, they close in on the corner too slowly to tell;
// and of `bells` on endless axes, around which points are not drawn together, a region's points hardly meet
// any.
double missed_by_regions(const std::vector<End>& ends, bool bells);
// An answer that is given up, where f grows towards an end so fast that it may have no integral; else it is
// left alone.
bool may_diverge(const std::vector<End>& ends, std::size_t axes, Answer& answer);

// The place of the end that the reason is about: the one beyond which most is left.
std::vector<double> place_of(const std::vector<End>& ends, double distance, std::size_t axes);

}  // namespace tessera::quadrature
