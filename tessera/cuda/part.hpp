// SPDX-License-Identifier: Apache-2.0
// A GPU's streams, and those of its parts, as the driver deals out multiprocessors (green contexts): kernels
// in a part's streams run on no others, while the GPU's memory, its kernels' code and its copy engines are
// everybody's.
#pragma once
#include "tessera/core/device.hpp"
#include "tessera/cuda/stream.hpp"

namespace tessera::cuda {

// Of the device's multiprocessors; its GPU is the current device. Throws Error.
Stream stream_on(const Device& device);

}  // namespace tessera::cuda
