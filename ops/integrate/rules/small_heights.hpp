// SPDX-License-Identifier: Apache-2.0
// Heights near the smallest number of f64, which are whole multiples of it: weighted, they lose what digits
// they have, and how much is lost is no share of them.
#pragma once
#include "ops/integrate/rules/domain.hpp"

namespace tessera::quadrature {

// Such heights are multiplied by 2^lift, which is exact, and the rule sees those.
inline constexpr int lift = 600;

// Whether heights are so small on the average that some may be subnormal, or their weighted values. `volume`:
// of what was integrated over, maybe infinite.
bool heights_are_small(const Answer& answer, double volume);
double volume_of(const Box& box);

Tolerance lifted(const Tolerance& tolerance);

// The answer to the lifted heights in place of the first one, divided again. False: the first one stays, for
// what was lifted is not small, and its squares might overflow.
bool keep_lifted(Answer& answer, Answer of_lifted);

// Charges half of the smallest number twice for each height and for the integral, which were rounded to
// multiples of it, and for each share in a sum where these were not lifted.
void charge_least(Answer& answer, double volume, bool lifted, const Tolerance& tolerance);

// The integral of what values of several variables may be off, from scattered points, where they are small.
double lost_in_small(const ManyValues& errors, const Box& box);

}  // namespace tessera::quadrature
