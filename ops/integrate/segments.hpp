// SPDX-License-Identifier: Apache-2.0
// Sums of segments of strips, which several may share, on the processors.
#pragma once
#include <functional>
#include "integrate.hpp"

namespace tessera::integration {

// Consecutive segments, each of `strips` strips (the last of all may have fewer), which are whole subtrees of
// the sum's order: each sum is handed on as it is done, by several threads.
template <class T>
struct Segments {
  std::int64_t first = 0, count = 0, strips = 0;
  std::function<void(std::int64_t segment, Pair<T>)> keep;
  std::function<void(std::int64_t segment, const Exact<T>&)> keep_exact;
};
template <class T>
void add_segments(const Problem<T>& p, const Segments<T>& segments, int threads);
extern template void add_segments(const Problem<float>&, const Segments<float>&, int);
extern template void add_segments(const Problem<double>&, const Segments<double>&, int);

}  // namespace tessera::integration
