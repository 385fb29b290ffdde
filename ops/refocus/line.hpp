// SPDX-License-Identifier: Apache-2.0
// A part of a view's line, for what sums it with vectors.
#pragma once
#include <cstdint>
#include "gather.hpp"

namespace tessera::lightfield {

// Σ weight(j) · from[i + j·apart] is added to sample i.
template <class T>
struct Line {
  const T* from = nullptr;
  std::int64_t samples = 0;
  int count = 1, apart = 1;
  std::int32_t tap[4] = {}, view_weight = 1;  // integers: weight = tap · view_weight
  Sum<T> weight[4] = {};
};

}  // namespace tessera::lightfield
