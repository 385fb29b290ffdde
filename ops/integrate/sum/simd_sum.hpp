// SPDX-License-Identifier: Apache-2.0
// The trapezoid sum by the processors' vectors.
#pragma once
#include "ops/integrate/integrate.hpp"
#include "tessera/formula/chain.hpp"

namespace tessera::integration {

template <class T>
T add_by_simd(const Problem<T>& p, int threads, formula::Roots roots);
extern template float add_by_simd(const Problem<float>&, int, formula::Roots);
extern template double add_by_simd(const Problem<double>&, int, formula::Roots);

}  // namespace tessera::integration
