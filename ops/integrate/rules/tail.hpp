// SPDX-License-Identifier: Apache-2.0
// Tails that swing for ever, such as sin(x)/x: no change of variable that only spreads the points can
// serve them. Between the zeros of f the tail is an alternating series, whose limit the epsilon
// algorithm finds; where the zeros keep a fixed distance, Ooura and Mori's variable runs into them
// double exponentially.
#pragma once
#include <vector>
#include "ops/integrate/rules/integrand.hpp"

namespace tessera::quadrature {

// The tail of a half-infinite range, seen outwards: f(start + direction·s), s >= 0.
struct Tail {
  double start = 0;  // a zero of f
  int direction = 1;
  std::vector<double> zeros;  // distances from `start`, the first is 0
  double gap = nothing;       // the distance between zeros where it is always the same
};

// Looks for zeros beyond `from`; none where f does not swing.
std::vector<double> find_zeros(Sampler& sampler, double from, int direction, std::size_t count);
// From the zeros, those after the first few.
Tail tail_of(Sampler& sampler, double from, int direction);

// Both give the integral from tail.start to infinity, counted positive. `diverges` where the swings do not
// fade, `may_diverge` where that cannot be seen. `drifted`: how much of the error is a drift behind the last
// zero, to one side.
Answer between_zeros(Sampler& sampler, const Tail& tail, double allowed, double* drifted = nullptr);
Answer ooura_mori(Sampler& sampler, const Tail& tail, double allowed);
// The series of the stretches between the middles of the zeros.
Answer between_middles(Sampler& sampler, const Tail& tail, double allowed);

}  // namespace tessera::quadrature
