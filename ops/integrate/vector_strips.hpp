// SPDX-License-Identifier: Apache-2.0
// The trapezoid sum by the processors' vectors: what the rungs that use them share.
#pragma once
#include "integrate.hpp"
#include "tessera/formula/chain.hpp"

namespace tessera::integration {

template <class T>
T add_by_vectors(const Problem<T>& p, int threads, formula::Roots roots);
extern template float add_by_vectors(const Problem<float>&, int, formula::Roots);
extern template double add_by_vectors(const Problem<double>&, int, formula::Roots);

}  // namespace tessera::integration
