// SPDX-License-Identifier: Apache-2.0
// A formula's value in higher precision, with how far a computation in a shorter type may be from it.
#pragma once
#include "tessera/formula/program.hpp"

namespace tessera::integrate {

struct Bounded {
  long double value = 0, error = 0;  // infinite where nothing can be said
};

// At x ± error of x. The bound follows each operator: what its operands' errors become, and its own rounding.
template <class T>
Bounded bounded(const formula::Program<T>& program, Bounded x);

extern template Bounded bounded(const formula::Program<float>&, Bounded);
extern template Bounded bounded(const formula::Program<double>&, Bounded);

}  // namespace tessera::integrate
