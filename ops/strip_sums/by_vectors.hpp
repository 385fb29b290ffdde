// SPDX-License-Identifier: Apache-2.0
// Segments by the processors' vectors.
#pragma once
#include "ops/integrate/segments.hpp"
#include "strip_sums.hpp"

namespace tessera::strip_sums {

template <class T>
void add_by_vectors(const Problem<T>& p, int threads) {
  const integration::Segments<T> segments{
      .first = p.first,
      .count = p.segments,
      .strips = p.each,
      .keep = [&p](std::int64_t segment, integration::Pair<T> sum) { p.store(segment, sum); },
      .keep_exact = [&p](std::int64_t segment, const auto& sum) { p.store(segment, sum); }};
  integration::add_segments<T>(p, segments, threads);
}

}  // namespace tessera::strip_sums
