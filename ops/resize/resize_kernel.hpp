// SPDX-License-Identifier: Apache-2.0
// The header of this operation's .simt.cu rungs: copies a problem's tables to the device before a launch.
#pragma once
#include <utility>
#include "resize.hpp"
#include "tessera/kernel.hpp"

namespace tessera::resizing {
inline namespace TESSERA_UNIT {

// Replaces the general function, by argument-dependent lookup.
template <class Kernel, class T>
void launch_kernel(const Launch& launch, Problem<T>& problem, Run& run) {
  problem.prepare(run);
  tessera::launch_kernel<Kernel>(launch, std::as_const(problem), run);
}

}  // namespace TESSERA_UNIT
}  // namespace tessera::resizing
