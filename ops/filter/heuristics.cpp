// SPDX-License-Identifier: Apache-2.0
// Rungs of the filter that are held back for pictures and kernels for which a lower one is faster.
#include "ops/filter/filter.hpp"
#include "tessera/run/heuristics.hpp"

namespace tessera::filtering {
namespace {

std::string at_least_samples(std::int64_t least) {
  return "faster only for at least " + std::to_string(least) + " samples";
}

std::int64_t samples_of(const Arguments& arguments) { return arguments.array("filtered").count(); }

Reason slower_packed(const Arguments& arguments, const Device&) {
  if (arguments.element() == Element::f32 && arguments.dim("channels") != 1)
    return "a lower rung is faster for floats with several channels";
  return std::nullopt;
}

Reason slower_streamed(const Arguments& arguments, const Device&) {
  constexpr std::int64_t least = 1 << 17;
  return samples_of(arguments) < least ? Reason(at_least_samples(least)) : std::nullopt;
}

Reason slower_matrices(const Arguments& arguments, const Device&) {
  constexpr std::int64_t least = 1 << 12;
  const Taps& taps = options_of(arguments).taps;
  if (taps.rows <= 3 && taps.cols <= 3) return "faster only for more than 3 x 3 taps";
  return samples_of(arguments) < least ? Reason(at_least_samples(least)) : std::nullopt;
}

[[maybe_unused]] const bool heuristics_registered =
    (register_heuristic("filter", {"packed"}, slower_packed),
     register_heuristic("filter", {"streamed"}, slower_streamed),
     register_heuristic("filter", {"matrices"}, slower_matrices), true);

}  // namespace
}  // namespace tessera::filtering
