// SPDX-License-Identifier: Apache-2.0
// Kernels run one after the other here.
#pragma once
#include "cuda.hpp"

namespace tessera::cuda::ptx {

inline void griddepcontrol_wait() {}
inline void griddepcontrol_launch_dependents() {}

}  // namespace tessera::cuda::ptx
