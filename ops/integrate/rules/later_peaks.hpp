// SPDX-License-Identifier: Apache-2.0
// What stands out from a tail's swings further out than its first zeros: summed from zero to zero, the tail
// would go on behind it as if it were not there. So the tail begins behind it.
#pragma once
#include <span>
#include "ops/integrate/rules/tail.hpp"

namespace tessera::quadrature {

// What was tried of f, in the order of x.
struct Tried {
  std::span<const double> x, y;
};

// Behind the last place, further than `seen` from `start`, at which |f| stands out from what was tried on
// both sides of it, or from all nearer swings while it falls below these again. NaN: there is none.
double behind_later_peaks(const Tried& tried, double start, int direction, double seen);

// As tail_of, behind all of these; without zeros where none alternate there.
Tail quiet_tail(Sampler& sampler, const Tried& tried, double from, int direction);

}  // namespace tessera::quadrature
