// SPDX-License-Identifier: Apache-2.0
// A program on many points at a time, with the best vectors of this CPU; bitwise identical to interpret().
#pragma once
#include <cstddef>
#include <span>
#include "tessera/formula/program.hpp"

namespace tessera::formula {

template <class T>
struct Input {
  const T* values = nullptr;
  bool varies = true;  // one value for each point; else one value for all of them
};

// Sets out[i] to the value at the i-th point, on the calling thread. `inputs` in the order that compile() was
// given; `out` overlaps none of them.
template <class T>
void evaluate_many(const Program<T>& program, std::span<const Input<T>> inputs, std::size_t count, T* out);

extern template void evaluate_many(const Program<float>&, std::span<const Input<float>>, std::size_t, float*);
extern template void evaluate_many(const Program<double>&, std::span<const Input<double>>, std::size_t,
                                   double*);

}  // namespace tessera::formula
