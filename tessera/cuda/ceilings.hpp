// SPDX-License-Identifier: Apache-2.0
// What a GPU does at most: a copy between two places of its memory, and multiply-adds from registers
// to registers, for each element that it computes with.
#pragma once
#include "tessera/core/device.hpp"

namespace tessera::cuda {

Ceilings measure_ceilings(const Device& device);

}  // namespace tessera::cuda
