// SPDX-License-Identifier: Apache-2.0
// What f32 cannot show of an integrand: structures narrower than its numbers lie apart. At 58 these are 4e-6
// apart, and a peak half as wide is met by one of them or by none. The formula in f64 tells what there is.
#pragma once
#include "ops/integrate/rules/integrand.hpp"

namespace tessera::quadrature {

struct Unseen {
  double mass = 0;         // the integral there of what f differs by from its value at the far edge, or more
  double variation = 0;    // the largest f there less the smallest
  double limit = nothing;  // of f towards the end
  bool settles = false;    // it has one
};

// On one side of an end of a piece (`inwards`: 1 above it, -1 below), nearer than `reach`. Needs f.in_double.
Unseen unseen_beside(const Integrand& f, double end, double inwards, double reach);

}  // namespace tessera::quadrature
