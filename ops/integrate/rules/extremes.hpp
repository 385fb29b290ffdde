// SPDX-License-Identifier: Apache-2.0
// Boxes and heights at the ends of what numbers can hold: no width on an axis, and heights whose sums
// overflow although their integral does not.
#pragma once
#include "ops/integrate/rules/domain.hpp"

namespace tessera::quadrature {

// Nothing times the heights there, which must be numbers for that. `box`: limits in order.
Answer between_same_limits(const ManyValues& f, const Box& box);

// The integral of what values may be off, from scattered points; those of which nothing can be said count as
// nothing.
double scattered_error(const ManyValues& errors, const Box& box);

// Seconds that f takes for each point, about: by a few scattered ones.
double seconds_each(const ManyValues& f, const Box& box);

// The exponent k for which f·2^-k stays small enough to be squared and added; 0 where f does.
int excess_of(const ManyValues& f, const Box& box);
ManyValues scaled(const ManyValues& f, int excess);
int excess_of(const Integrand& f, const Range& range);
Integrand scaled(const Integrand& f, int excess);  // refers to f
Tolerance scaled(const Tolerance& tolerance, int excess);
void scale_back(Answer& answer, int excess);

}  // namespace tessera::quadrature
