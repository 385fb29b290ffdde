// SPDX-License-Identifier: Apache-2.0
// A formula's value with how far its own rounding may have led from it: a running error bound as in Higham's
// "Accuracy and Stability of Numerical Algorithms". 1 - cos(x) at 1e-9 is 0 with an error of 1e-16: that no
// digit of it is right, no value of it shows.
#pragma once
#include <span>
#include "tessera/formula/program.hpp"

namespace tessera::formula {

struct Running {
  double value = 0;  // the one that evaluate() gives
  double error = 0;  // infinite or NaN where nothing can be said
  // There is no number because a function has none for its argument, as sqrt(-1). False where the formula
  // overflowed on the way: inf/inf, sin(inf).
  bool outside = false;
  // The value is finite, though a part of the formula that it depends on overflowed: 1/log(exp(1000)).
  bool overflowed = false;
};

// The inputs are taken for exact. What + - * / and square roots round off is computed, not estimated; of
// other functions it is what they may be off. A part that overflows is taken for exact. Good to first order:
// for an estimate, not for a proof.
Running running_error(const Program<double>& program, std::span<const double> inputs);
// In f32, from inputs that are rounded to it first: that is counted, too.
Running running_error(const Program<float>& program, std::span<const double> inputs);

}  // namespace tessera::formula
