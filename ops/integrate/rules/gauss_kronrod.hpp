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
#include "ops/integrate/rules/variable.hpp"

namespace tessera::quadrature {

enum class Pair { k15, k21 };

enum class Through {
  directly,            // x itself; x = lower + (1-t)/t and its like where the range is infinite
  double_exponential,  // the variable of tanh-sinh: end singularities are smooth in it
};

// A part of the range, and where its variable runs.
struct Track {
  Piece piece;
  Through through = Through::directly;
  double from = 0, to = 1;
  bool inside[2] = {false, false};  // as Variable::stay_inside has it
  static Track direct(const Piece& piece);
  static Track transformed(const Piece& piece, const Range& range);
};

struct Adaptive {
  Pair pair = Pair::k21;
  double split = 0.5;   // where a cell is cut
  int first_cells = 1;  // of each track
};

struct Stuck {
  double x = nothing;  // where the error that remains is concentrated
  double share = 0;    // of the whole error
};

Answer adaptive(Sampler& sampler, std::span<const Track> tracks, const Tolerance& tolerance,
                const Adaptive& how, Stuck* stuck = nullptr);

Answer gauss_kronrod(const Integrand& f, const Range& range, const Tolerance& tolerance = {},
                     const Limits& limits = {}, const Adaptive& how = {},
                     std::span<const double> points = {});

}  // namespace tessera::quadrature
