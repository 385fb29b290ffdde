// SPDX-License-Identifier: Apache-2.0
// Norms √Σ(x·size)² of doubles of any size: one row may be so small, or so large, that its squares are no
// doubles. Sums of squares serve nearly all rows; who has made one asks whether it holds, and only then takes
// this slower way.
#pragma once
#include <cmath>
#include <limits>
#include "tessera/core/thread.hpp"

namespace tessera::matmul {

SIMT bool is_number(double x) { return x - x == 0; }

// Whether no square that counts was lost at either end of the doubles: each loses at most 2^-1074.
SIMT bool squares_hold(double squares) { return squares >= 0x1p-960 && is_number(squares); }

// x·size as fraction·2^exponent. Infinities and NaN stay, above all others.
struct Term {
  static constexpr int nothing = -1000000, beyond = 1000000;
  double fraction = 0;
  int exponent = nothing;
};

SIMT Term term_of(double x, double size) {
  if (x == 0 && is_number(size)) return {};
  if (size == 0 && is_number(x)) return {};
  if (!is_number(x) || !is_number(size)) return {x * size, Term::beyond};
  int of_x = 0, of_size = 0;
  const double fraction = std::frexp(x, &of_x) * std::frexp(size, &of_size);
  return {fraction, of_x + of_size};
}

// Its square, where 2^exponent is one: of addends up to the largest of which `exponent` is.
SIMT double scaled_square(const Term& term, int exponent) {
  const int below = term.exponent - exponent;
  const double scaled = below < -2000 ? 0 : std::ldexp(term.fraction, below);
  return scaled * scaled;
}

// The norm of squares that were scaled so.
SIMT double norm_of_scaled(double squares, int exponent) {
  if (exponent == Term::nothing) return 0;
  return exponent == Term::beyond ? squares : std::ldexp(std::sqrt(squares), exponent);
}

}  // namespace tessera::matmul
