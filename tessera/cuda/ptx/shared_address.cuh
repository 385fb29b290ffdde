// SPDX-License-Identifier: Apache-2.0
// Converts generic addresses of shared memory to the 32-bit form that PTX takes.
#pragma once
#include <cstdint>

namespace tessera::cuda::ptx {

__device__ __forceinline__ std::uint32_t shared_address(const void* address) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(address));
}

}  // namespace tessera::cuda::ptx
