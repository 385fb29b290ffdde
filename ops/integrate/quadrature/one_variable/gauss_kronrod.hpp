// SPDX-License-Identifier: Apache-2.0
// Adaptive bisection with a Gauss-Kronrod pair on every cell; the cell with the largest error is split next.
// Cells lie in x itself, or in the double exponential variable, in which end singularities are smooth.
#pragma once
#include "ops/integrate/quadrature/one_variable/tanh_sinh.hpp"

namespace tessera::quadrature {

enum class Pair { k15, k21 };

// A part of the range, and the interval of its variable.
struct Track {
  const Part* part;
  const DoubleExponential* variable = nullptr;  // none: x itself, or a map of it to a finite interval
  double from = 0, to = 1;
  double cell = infinity;                  // the greatest length of a first cell
  double reach[2] = {infinity, infinity};  // in the double exponential variable; points beyond it count as 0

  static Track direct(const Part& part);
};

struct Adaptive {
  Pair pair = Pair::k21;
  double split = 0.5;  // the cut of a cell, as a share of its width
};

// `known`: the integral outside of the tracks.
Answer adaptive(Sampler& sampler, std::span<const Track> tracks, const Tolerance& tolerance,
                const Adaptive& how, const Answer& known = nothing());

// Integrates by this rule alone, in x itself.
Answer gauss_kronrod(const Integrand& f, const Range& range, const Tolerance& tolerance = {},
                     const Limits& limits = {}, std::span<const double> points = {});

}  // namespace tessera::quadrature
