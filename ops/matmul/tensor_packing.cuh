// SPDX-License-Identifier: Apache-2.0
// What the two kernels that pack operands have in common.
#pragma once
#include <cstdint>
#include "tessera/cuda/ptx/cluster.cuh"

namespace tessera::matmul {

struct PackArgs {
  const unsigned char* from;
  std::int64_t lines, k, line_step, k_step;  // steps in elements
  std::uint32_t* to;
  std::int64_t to_step;                       // in words of 4 bytes
  std::int64_t from_layer = 0, to_layer = 0;  // likewise, from one operand of a batch to the next
};

// Both operands of a product in one launch, if both need it.
struct PackPair {
  PackArgs of[2];
  int count = 0;

  // Layers of the grid are operands of a batch, those of a pair beside each other.
  __device__ const PackArgs& here() const { return of[count == 2 ? blockIdx.z & 1 : 0]; }
  __device__ std::int64_t layer() const { return count == 2 ? blockIdx.z >> 1 : blockIdx.z; }
};

template <int bytes>
struct Bits;
template <>
struct Bits<1> {
  using Type = std::uint8_t;
};
template <>
struct Bits<2> {
  using Type = std::uint16_t;
};
template <>
struct Bits<4> {
  using Type = std::uint32_t;
};

// A word of elements that lie next to each other; `there` of them exist, the others are 0.
template <int bytes>
__device__ __forceinline__ std::uint32_t gather(const unsigned char* from, std::int64_t there) {
  using Element = typename Bits<bytes>::Type;
  std::uint32_t out = 0;
#pragma unroll
  for (int i = 0; i < 4 / bytes; ++i)
    if (i < there)
      out |= std::uint32_t{*reinterpret_cast<const Element*>(from + i * bytes)} << (8 * bytes * i);
  return out;
}

// The two kernels of a product's operands have nothing to do with each other: the second begins beside the
// first, and is over when both are.
template <class Work>
__device__ __forceinline__ void beside_kernel_before(const Work& work) {
  cuda::ptx::let_next_kernel_start();
  work();
  cuda::ptx::wait_for_kernel_before();
}

}  // namespace tessera::matmul
