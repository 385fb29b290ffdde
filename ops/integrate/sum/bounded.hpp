// SPDX-License-Identifier: Apache-2.0
// A formula's value in higher precision, with an error bound of its computation in a shorter type.
#pragma once
#include <span>
#include "tessera/formula/program.hpp"

namespace tessera::integration {

struct Bounded {
  long double value = 0, error = 0;  // infinite: nothing is known
};

// Returns the value at x ± error of x. The bound follows each operator, with the errors of its operands and
// its own rounding; `root`: the error bound of a square root, in halves of a unit of the last place.
template <class T>
Bounded bounded(const formula::Program<T>& program, Bounded x, int root = 1);

// Like it, for several variables, in the program's order.
template <class T>
Bounded bounded(const formula::Program<T>& program, std::span<const Bounded> inputs, int root = 1);

extern template Bounded bounded(const formula::Program<double>&, std::span<const Bounded>, int);
extern template Bounded bounded(const formula::Program<float>&, Bounded, int);
extern template Bounded bounded(const formula::Program<double>&, Bounded, int);

}  // namespace tessera::integration
