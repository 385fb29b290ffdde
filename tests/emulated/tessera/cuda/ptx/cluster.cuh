// SPDX-License-Identifier: Apache-2.0
// Kernels run one after the other here.
#pragma once
#include "cuda.hpp"

namespace tessera::cuda::ptx {

inline void wait_for_kernel_before() {}
inline void let_next_kernel_start() {}

}  // namespace tessera::cuda::ptx
