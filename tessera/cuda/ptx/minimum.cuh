// SPDX-License-Identifier: Apache-2.0
// A minimum that tells which of the two it was, in one instruction where the hardware has it (DPX, 9.0).
#pragma once

namespace tessera::cuda::ptx {

// The lesser; of equals the first.
__device__ __forceinline__ int lesser(int first, int second, bool& is_first) {
#if __CUDA_ARCH__ >= 900
  return __vibmin_s32(first, second, &is_first);
#else
  is_first = first <= second;
  return is_first ? first : second;
#endif
}

}  // namespace tessera::cuda::ptx
