// SPDX-License-Identifier: Apache-2.0
// The kernel `estimate_regions` of a formula, as text for NVRTC. It takes a RegionFrame by value, and is
// launched in blocks of `compiled_region_threads`.
#pragma once
#include <string>
#include "tessera/formula/program.hpp"

namespace tessera::integration {

inline constexpr int compiled_region_threads = 128;

struct CompiledRegions {
  bool plain = false;  // no axis has a map: slopes are 1, and nothing is computed for them
  int residents = 4;   // blocks that a multiprocessor must have registers for
  int unroll = 1;      // so many of the innermost loops over corners
  bool native =
      false;  // CUDA's elementary functions, within 2 units of the last place, in place of the formula's own
};

std::string region_source_of(const formula::Program<double>& program, const CompiledRegions& how);

}  // namespace tessera::integration
