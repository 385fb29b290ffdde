// SPDX-License-Identifier: Apache-2.0
// The processors' summit, for the rung and for the check of large results.
#pragma once
#include "tessera/core/arguments.hpp"
#include "tessera/core/device.hpp"

namespace tessera::filter {

// Columns first to last, rows begin to end of the result of picture n. `past_caches`: a result that they
// would not hold anyway goes to memory without being read from there first.
struct Piece {
  std::int64_t n;
  int first, last, begin, end;
  bool past_caches = false;
};

// Pictures of any strides; a result whose pixels lie side by side.
void filter_simd(const Arguments& arguments, int threads);

}  // namespace tessera::filter
