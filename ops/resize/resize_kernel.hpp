// SPDX-License-Identifier: Apache-2.0
// What a .simt.cu rung of this operation includes: before a kernel runs, its tables are put where it can read
// them.
#pragma once
#include <utility>
#include "resize.hpp"
#include "tessera/kernel.hpp"

namespace tessera::resizing {
inline namespace TESSERA_UNIT {

// Found by its problem, in place of the general one.
template <class Kernel, class T>
void launch_kernel(const Launch& launch, Problem<T>& problem, Run& run) {
  problem.prepare(run);
  tessera::launch_kernel<Kernel>(launch, std::as_const(problem), run);
}

}  // namespace TESSERA_UNIT
}  // namespace tessera::resizing
