// SPDX-License-Identifier: Apache-2.0
// The kernel `estimate_regions` of a formula, as text for NVRTC. It takes a RegionFrame by value, and is
// launched in blocks of `compiled_region_threads`.
#pragma once
#include <string>
#include "tessera/formula/program.hpp"

namespace tessera::integration {

inline constexpr int compiled_region_threads = 128;

// `plain`: no axis has a map, so that slopes are 1 and nothing is computed for them.
std::string region_source_of(const formula::Program<double>& program, bool plain);

}  // namespace tessera::integration
