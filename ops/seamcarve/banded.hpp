// SPDX-License-Identifier: Apache-2.0
// The processors' summit, for the rung, for the check of large results, and for counting what a mask needs.
#pragma once
#include "seamcarve.hpp"

namespace tessera::seamcarve {

// Columns first to last (without it) of a row of costs.
template <class Sum>
struct Stretch {
  const Pixel *above, *here, *below;
  const Sum* costs_above;  // null: there is no row above
  Sum* to;                 // [0] is column `first`
  std::int32_t width, first, last;
  Energy energy;
};

template <class Sum>
SIMT Sum cost_at(const Stretch<Sum>& s, std::int32_t x) {
  const auto grey = [](const Pixel* row, std::int32_t at) { return grey_of(row[at]); };
  const std::int32_t left = x > 0 ? x - 1 : 0, right = x + 1 < s.width ? x + 1 : x;
  const Around a{grey(s.here, left), grey(s.here, x), grey(s.here, right), grey(s.above, x),
                 grey(s.below, x)};
  const Sum own = with_mark<Sum>(own_energy(s.energy, a), s.here[x]);
  if (s.costs_above == nullptr) return own;
  return own + cheapest_into(s.energy, a, x > 0 ? s.costs_above[x - 1] : beyond<Sum>, s.costs_above[x],
                             x + 1 < s.width ? s.costs_above[x + 1] : beyond<Sum>)
                   .cost;
}

void carve_banded(const Arguments& arguments, int threads);

// How many seams, across rows, go before no pixel is left that is to go. Throws Error where a row has no
// other.
std::int64_t seams_to_clear(const Source<std::uint8_t>& picture, Energy energy, int threads);
std::int64_t seams_to_clear(const Source<std::uint16_t>& picture, Energy energy, int threads);

}  // namespace tessera::seamcarve
