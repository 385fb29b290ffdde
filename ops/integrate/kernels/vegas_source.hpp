// SPDX-License-Identifier: Apache-2.0
// The kernel that samples for VEGAS with the formula compiled into it, as text for NVRTC.
#pragma once
#include <string>
#include "tessera/formula/program.hpp"

namespace tessera::integration {

inline constexpr int compiled_vegas_threads = 128;

// `vegas_sample`, of a VegasPlan, VegasTasks, and the addresses of edges, axes, sums and cubes of tasks,
// weights and holes. The bits of the kernel that interprets.
std::string vegas_source_of(const formula::Program<double>& program, int threads = compiled_vegas_threads);

}  // namespace tessera::integration
