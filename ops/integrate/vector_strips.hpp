// SPDX-License-Identifier: Apache-2.0
// The trapezoid sum by the processors' vectors: what the rungs that use them share.
#pragma once
#include "integrate.hpp"
#include "within_time.hpp"
#include "tessera/formula/chain.hpp"

namespace tessera::integration {

// Once the clock is over, the rest is left out.
template <class T>
T add_by_vectors(const Problem<T>& p, int threads, formula::Roots roots, const Clock& clock = Clock());
extern template float add_by_vectors(const Problem<float>&, int, formula::Roots, const Clock&);
extern template double add_by_vectors(const Problem<double>&, int, formula::Roots, const Clock&);

}  // namespace tessera::integration
