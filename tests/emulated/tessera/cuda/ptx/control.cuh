// SPDX-License-Identifier: Apache-2.0
// The functions of control.cuh that kernels here use. Kernels run one after the other, so they do nothing.
#pragma once
#include "cuda.hpp"

namespace tessera::cuda::ptx {

inline void griddepcontrol_wait() {}
inline void griddepcontrol_launch_dependents() {}

}  // namespace tessera::cuda::ptx
