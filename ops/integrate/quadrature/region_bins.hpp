// SPDX-License-Identifier: Apache-2.0
// Sizes of errors, counted instead of sorted: which regions are split follows from how many there are of each
// size, and whole numbers may be counted in any order, by any number of threads.
#pragma once
#include <cstdint>
#include "tessera/core/thread.hpp"

namespace tessera::integration {
inline namespace TESSERA_UNIT {

// Of what is allowed: as much may remain of the errors of regions that stay whole. The rest is for the
// halves.
inline constexpr double region_share = 0.75;
inline constexpr int region_bins = 256, budget_bin = 176;

// Bins of errors, in units of the budget: a quarter of an octave each, by exponent and the first two digits
// behind the point.
SIMT int region_bin(double error, double budget) {
  const double share = error / budget;
  if (!(share > 0)) return 0;
  std::uint64_t bits;
  __builtin_memcpy(&bits, &share, sizeof bits);
  const std::int64_t quarter = static_cast<std::int64_t>(bits >> 50) - (std::int64_t{1023} << 2);
  const std::int64_t bin = quarter + budget_bin;
  return static_cast<int>(bin < 0 ? 0 : bin >= region_bins ? region_bins - 1 : bin);
}
// No error in the bin is larger than this many budgets; of the last it is not known.
SIMT double region_bin_end(int bin) {
  const int quarter = bin + 1 - budget_bin, octave = (quarter + 1024) / 4 - 256;
  const std::uint64_t bits = static_cast<std::uint64_t>(octave + 1023) << 52 |
                             static_cast<std::uint64_t>((quarter + 1024) % 4) << 50;
  double out;
  __builtin_memcpy(&out, &bits, sizeof out);
  return out;
}

}  // namespace TESSERA_UNIT
}  // namespace tessera::integration
