// SPDX-License-Identifier: Apache-2.0
// Shares the rows of several pictures among threads.
#pragma once
#include <algorithm>
#include <cstdint>
#include "tessera/core/device/parallel.hpp"

namespace tessera::imaging {

// Calls work(n, first, last) for rows first … last − 1 of picture n until all rows of all pictures are done,
// on at most `threads` threads. `samples`: of a row.
template <class Work>
void share_rows(std::int64_t pictures, int rows, std::int64_t samples, int threads, const Work& work) {
  constexpr std::int64_t min_samples = 1 << 14;  // worth another thread
  const std::int64_t all = pictures * rows;
  if (all * samples == 0) return;
  const auto parts = static_cast<int>(
      std::clamp<std::int64_t>(all * samples / min_samples, 1, std::min<std::int64_t>(threads, all)));
  parallel(parts, [&](int part) {
    const std::int64_t end = all * (part + 1) / parts;
    for (std::int64_t row = all * part / parts; row < end;) {
      const std::int64_t first = row % rows, count = std::min(end - row, rows - first);
      work(row / rows, static_cast<int>(first), static_cast<int>(first + count));
      row += count;
    }
  });
}

}  // namespace tessera::imaging
