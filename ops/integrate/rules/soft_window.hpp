// SPDX-License-Identifier: Apache-2.0
// Tails that swing about a mean which falls slowly, such as (sin(x)/x)^2: no zero alternates, and what is
// left behind any place falls as slowly as the mean.
//
// Seen through a window that closes softly, 1/2 erfc over its second half, the swings leave exp(-(ωh/48)^2)
// of themselves, h its width; a mean that falls like powers leaves powers of h, whatever the swings do.
// Windows of doubled widths make these a sum of geometric sequences, which the epsilon algorithm takes away.
// No zero, no period and no power need be known.
#pragma once
#include "ops/integrate/rules/integrand.hpp"

namespace tessera::quadrature {

// The distance between turning points of f beyond a place; NaN where it does not swing.
double swing_length(Sampler& sampler, double from, int direction);

// The integral from `start` to infinity, counted positive, the first window `first` wide. The tolerance is of
// the integral of |f|. `converged` only where the swings fade, and the mean like a power or faster.
Answer behind_soft_windows(Sampler& sampler, double start, int direction, double first, double swing,
                           const Tolerance& tolerance);

}  // namespace tessera::quadrature
