// SPDX-License-Identifier: Apache-2.0
// Asynchronous copies of pieces that may end at an operand's edge.
#pragma once
#include "tessera/cuda/ptx/cp_async.cuh"

namespace tessera::matmul {

// Copies the first `count` of `unit` elements and zeroes the rest of the target. One copy may touch all of
// its source bytes, even those that it leaves out, so a partial piece is copied element by element: nothing
// beyond the operand is read. `any`: a readable address.
template <int unit, class T>
__device__ __forceinline__ void copy_part(T* to, const T* from, const T* any, int count) {
  constexpr int bytes = sizeof(T);
  if constexpr (unit > 1) {
    if (count > 0 && count < unit) {
#pragma unroll 1
      for (int i = 0; i < unit; ++i)
        cuda::ptx::cp_async<bytes>(to + i, i < count ? from + i : any, i < count ? bytes : 0);
      return;
    }
  }
  cuda::ptx::cp_async<unit * bytes>(to, count > 0 ? from : any, count * bytes);
}

}  // namespace tessera::matmul
