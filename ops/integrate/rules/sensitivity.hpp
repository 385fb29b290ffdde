// SPDX-License-Identifier: Apache-2.0
// f's own slope, at places that have no step in common with a rule's points. A rule tells from what f does
// between its neighbouring points how it swings, and what rounded abscissae do to the sum; where points are
// few, or in step with f, they do not show that.
#pragma once
#include "ops/integrate/rules/integrand.hpp"

namespace tessera::quadrature {

// What rounded abscissae do to a sum, in units of the last place: each step of f between neighbours,
// times |x|, is uncertain by one of x, by one of what f makes of it, such as 100·x, and where x was made from
// a distance, by up to two of that. Many small ones partly cancel.
inline double spoiled(double steps, double squares, bool from_distance = true) {
  return std::fmin(2 * steps, (from_distance ? 8 : 5) * std::sqrt(squares));
}

struct Slopes {
  double slope = 0;  // |f'| that three places of four do not exceed: a pole is steep beside it alone
  double steep = 0;  // likewise |f'| times |x|, or the distance that is known
  double size = 0;   // the largest |f| that was seen

  // Of a sum of so many points, in units of the last place.
  double spoil(double length, double points) const {
    return spoiled(steep * length, steep * steep * length * length / points);
  }
};

// Of a finite range; all 0 where the cap allows no look.
Slopes slopes_of(Sampler& sampler);

// Raises the answer's rounding to what slopes lead to expect of so many points as were used; what no longer
// meets the tolerance ends as roundoff. Finite ranges only.
void charge_slopes(Answer& answer, const Integrand& f, const Range& range, const Tolerance& tolerance,
                   const Limits& limits);

}  // namespace tessera::quadrature
