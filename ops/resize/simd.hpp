// SPDX-License-Identifier: Apache-2.0
// The processors' summit, for the rung and for the check of large results.
#pragma once
#include "tessera/core/arguments.hpp"
#include "tessera/core/device.hpp"

namespace tessera::resize {

// Pictures of any strides; a result whose pixels lie side by side.
void resize_simd(const Arguments& arguments, int threads);

}  // namespace tessera::resize
