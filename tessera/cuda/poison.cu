// SPDX-License-Identifier: Apache-2.0
// A kernel that stops in a trap. The context is unusable from then on, and only the process's end mends that.
#include "tessera/core/poison.hpp"
#include "tessera/cuda/check.hpp"
#include "tessera/cuda/device.hpp"

namespace tessera::cuda {
namespace {

__global__ void stop_in_a_trap() { __trap(); }

void poison(const Device& device) {
  const OnDevice on_device(device.index);
  stop_in_a_trap<<<1, 1>>>();
  check(cudaGetLastError());
  check(cudaDeviceSynchronize());
}

[[maybe_unused]] const bool poison_registered = (register_poison(Where::cuda, poison), true);

}  // namespace
}  // namespace tessera::cuda
