// SPDX-License-Identifier: Apache-2.0
// Adaptive bisection: the pair of Gauss and Kronrod on every cell, and the cell with the largest error is cut
// next. Cells lie in x itself, or in the double exponential variable, in which end singularities are smooth.
#pragma once
#include "ops/integrate/quadrature/tanh_sinh.hpp"

namespace tessera::quadrature {

enum class Pair { k15, k21 };

// A part of the range, and where its variable runs.
struct Track {
  const Part* part;
  const DoubleExponential* variable = nullptr;  // none: x itself, or a fraction of it where it is infinite
  double from = 0, to = 1;
  double cell = infinity;                  // no first cell is longer
  double reach[2] = {infinity, infinity};  // in the double exponential variable: beyond it nothing counts

  static Track direct(const Part& part);
};

struct Adaptive {
  Pair pair = Pair::k21;
  double split = 0.5;  // where a cell is cut
};

// `known`: the integral over what is not among the tracks.
Answer adaptive(Sampler& sampler, std::span<const Track> tracks, const Tolerance& tolerance,
                const Adaptive& how, const Answer& known);

// By this rule alone, in x itself.
Answer gauss_kronrod(const Integrand& f, const Range& range, const Tolerance& tolerance = {},
                     const Limits& limits = {}, std::span<const double> points = {});

}  // namespace tessera::quadrature
