// SPDX-License-Identifier: Apache-2.0
// CUDA calls that fail throw. A function, not a macro: the caller's place comes along by itself.
#pragma once
#include <cuda_runtime_api.h>
#include <string>
#include "tessera/core/error.hpp"
#include "tessera/core/here.hpp"

namespace tessera::cuda {

inline void check(cudaError_t status, Here where = Here::current()) {
  if (status == cudaSuccess) return;
  (void)cudaGetLastError();  // an error that the context survives must not surface again in the next call
  const bool bad_access = status == cudaErrorIllegalAddress || status == cudaErrorMisalignedAddress;
  throw Error(bad_access ? Error::Kind::memory : Error::Kind::internal,
              std::string(where.file) + ":" + std::to_string(where.line) +
                  ": CUDA: " + cudaGetErrorString(status) + " (" + cudaGetErrorName(status) + ")" +
                  (status == cudaErrorNoKernelImageForDevice
                       ? "; TESSERA_CUDA_ARCHITECTURES names the GPUs to build for"
                       : ""));
}

}  // namespace tessera::cuda
