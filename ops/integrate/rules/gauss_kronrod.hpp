// SPDX-License-Identifier: Apache-2.0
// Gauss-Kronrod pairs, applied where they are needed most: the cell with the largest error is split,
// wherever in the range it lies, until the sum of the errors meets the tolerance.
//
// The error of a cell is the plain difference of the pair, or the largest of several where they do not fall
// off like a smooth function's. QUADPACK's (200·e)^1.5 saves a level of splitting and has vouched for kinks
// that it had not seen. Nor does a pair see what happens between its outermost point and the end of the cell:
// where two cells meet, what each expects there must agree.
#pragma once
#include <array>
#include <span>
#include <vector>
#include "ops/integrate/rules/tracks.hpp"

namespace tessera::quadrature {

enum class Pair { k15, k21 };

class Witnesses;

struct Adaptive {
  Pair pair = Pair::k21;
  double split = 0.5;   // where a cell is cut
  int first_cells = 1;  // of each track
  const Witnesses* seen = nullptr;
};

struct Stuck {
  double x = nothing;  // where the error that remains is concentrated
  double share = 0;    // of the whole error
  double missed = 0;   // what the witnesses saw beside the cells' points
};

Answer adaptive(Sampler& sampler, std::span<const Track> tracks, const Tolerance& tolerance,
                const Adaptive& how, Stuck* stuck = nullptr);

Answer gauss_kronrod(const Integrand& f, const Range& range, const Tolerance& tolerance = {},
                     const Limits& limits = {}, const Adaptive& how = {},
                     std::span<const double> points = {});

}  // namespace tessera::quadrature
