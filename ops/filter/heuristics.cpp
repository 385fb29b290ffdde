// SPDX-License-Identifier: Apache-2.0
// Rungs of the filter that are held back for pictures and kernels for which a lower one is faster.
#include "ops/filter/filter.hpp"
#include "tessera/core/heuristics.hpp"

namespace tessera::filtering {
namespace {

std::string samples_and_more(std::int64_t least) {
  return "is faster from " + std::to_string(least) + " samples on";
}

std::int64_t samples_of(const Arguments& there) { return there.array("filtered").count(); }

Reason slower_packed(const Arguments& there, const Device&) {
  if (there.element() == Element::f32 && there.dim("channels") != 1)
    return "of floats of three channels the lanes beside have more to give";
  return std::nullopt;
}

Reason slower_streamed(const Arguments& there, const Device&) {
  constexpr std::int64_t least = 1 << 17;
  return samples_of(there) < least ? Reason(samples_and_more(least)) : std::nullopt;
}

Reason slower_matrices(const Arguments& there, const Device&) {
  constexpr std::int64_t least = 1 << 12;
  const Taps& taps = options_of(there).taps;
  if (taps.rows <= 3 && taps.cols <= 3) return "is faster for more than 3 x 3 taps";
  return samples_of(there) < least ? Reason(samples_and_more(least)) : std::nullopt;
}

[[maybe_unused]] const bool heuristics_registered =
    (register_heuristic("filter", {"packed"}, slower_packed),
     register_heuristic("filter", {"streamed"}, slower_streamed),
     register_heuristic("filter", {"matrices"}, slower_matrices), true);

}  // namespace
}  // namespace tessera::filtering
