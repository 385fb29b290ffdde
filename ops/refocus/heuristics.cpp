// SPDX-License-Identifier: Apache-2.0
// Withholds the rung that shares loads between planes if there is one plane only.
#include "tessera/run/heuristics.hpp"

namespace tessera::refocus {
namespace {

Reason slower_planes(const Arguments& arguments, const Device&) {
  return arguments.array("refocused").extents[0] < 2 ? Reason("faster only for several planes")
                                                     : std::nullopt;
}

[[maybe_unused]] const bool heuristics_registered =
    (register_heuristic("refocus", {"planes"}, slower_planes), true);

}  // namespace
}  // namespace tessera::refocus
