// SPDX-License-Identifier: Apache-2.0
// A formula's value with a running bound of its own rounding error, as in Higham's "Accuracy and Stability of
// Numerical Algorithms". 1 - cos(x) at 1e-9 is 0 with an error of 1e-16: the value alone does not show that
// no digit of it is right.
#pragma once
#include <span>
#include "tessera/formula/program.hpp"

namespace tessera::formula {

struct Running {
  double value = 0;  // the one that evaluate() gives
  double error = 0;  // infinite or NaN if it is unknown
  // The value is NaN because a function is undefined for its argument, as in sqrt(-1). False if the formula
  // overflowed on the way: inf/inf, sin(inf).
  bool outside = false;
  // The value is finite, though a part of the formula that it depends on overflowed: 1/log(exp(1000)).
  bool overflowed = false;
};

// The inputs are taken as exact. The roundoff of + - * / and square roots is computed, not estimated; other
// functions contribute their error bounds. A part that overflows is taken as exact. The error is valid to
// first order: an estimate, not a proof.
Running running_error(const Program<double>& program, std::span<const double> inputs);
// In f32, from inputs rounded to it first: that rounding counts, too.
Running running_error(const Program<float>& program, std::span<const double> inputs);

}  // namespace tessera::formula
