// SPDX-License-Identifier: Apache-2.0
// Withholds the rung for small pictures if the picture is large.
#include "tessera/run/heuristics.hpp"

namespace tessera::resizing {
namespace {

// Each sample recomputes its sums, which is faster only if all samples run at once.
Reason slower_samples(const Arguments& arguments, const Device&) {
  constexpr std::int64_t most = std::int64_t{1} << 18;  // about the threads that a large GPU holds at once
  const std::int64_t samples = arguments.array("resized").count();
  if (samples <= most) return std::nullopt;
  return "faster only for results of at most " + std::to_string(most) + " samples, not " +
         std::to_string(samples);
}

[[maybe_unused]] const bool heuristics_registered =
    (register_heuristic("resize", {"samples"}, slower_samples), true);

}  // namespace
}  // namespace tessera::resizing
