// SPDX-License-Identifier: Apache-2.0
// Emulated FP32: each f32 operand is a sum of components of fewer bits, whose products the tensor cores
// compute exactly. A row of 128 bytes holds all components of 16 or 32 elements of k, in four k blocks of 32
// bytes. A list says which k blocks of A are multiplied with which of B. Bytes and TMA boxes are those of
// TF32.
#pragma once
#include <cstdint>
#include "ops/matmul/gemm/mixed_problem.hpp"
#include "tessera/cuda/ptx/wgmma.cuh"

namespace tessera::matmul {

namespace ptx = cuda::ptx;

// The 32-byte k block of A and of B that one wgmma multiplies.
struct KBlockPair {
  int a, b;
};

inline constexpr int products_per_k_tile = 6;

// The number of k tiles in a promotion interval, which is accumulated separately and then added in f32.
inline constexpr int promotion_k_tiles = 2;

// The TMA and shared memory hold the components as 4-byte elements.
struct FourByteStorage {
  static constexpr int bytes = 4;
  static constexpr bool supports_mn_major = false;
  using Accumulator = float;
};

// The first products of each list are small. They are issued before the others of all k tiles of a promotion
// interval, so that truncation hits the small terms.
struct ThreeProducts {
  static constexpr int small_products = 4;
  static constexpr KBlockPair product(int i) {
    constexpr KBlockPair all[products_per_k_tile] = {{2, 0}, {3, 1}, {0, 2}, {1, 3}, {0, 0}, {1, 1}};
    return all[i];
  }
};
struct F16x3 : FourByteStorage, ThreeProducts {  // [hi 0…15 | hi 16…31 | lo 0…15 | lo 16…31]
  using Component = ptx::F16;
  static constexpr Compute compute = Compute::f16x3;
  static constexpr int k = 32;          // elements per row
  static constexpr bool scaled = true;  // each promotion interval has one power-of-two scale per row
};
struct Tf32x3 : FourByteStorage, ThreeProducts {  // [hi 0…7 | hi 8…15 | lo 0…7 | lo 8…15]
  using Component = ptx::Tf32;
  static constexpr Compute compute = Compute::tf32x3;
  static constexpr int k = 16;
  static constexpr bool scaled = false;
};
struct Bf16x6 : FourByteStorage {  // [first | second | third | nothing]
  using Component = ptx::Bf16;
  static constexpr Compute compute = Compute::bf16x6;
  static constexpr int k = 16;
  static constexpr bool scaled = false;
  static constexpr int small_products = 5;
  static constexpr KBlockPair product(int i) {
    constexpr KBlockPair all[products_per_k_tile] = {{2, 0}, {1, 1}, {0, 2}, {1, 0}, {0, 1}, {0, 0}};
    return all[i];
  }
};

template <class Kind>
concept IsEmulatedFp32 = requires {
  typename Kind::Component;
};
template <class Kind>
inline constexpr bool has_scales = false;
template <IsEmulatedFp32 Kind>
inline constexpr bool has_scales<Kind> = Kind::scaled;

struct EmulatedArgs {
  // Scale of each row of A (column of B) for each promotion interval, one after the other; stride_*: elements
  // from one interval to the next.
  const float *scales_a = nullptr, *scales_b = nullptr;
  std::int64_t stride_a = 0, stride_b = 0;
};

}  // namespace tessera::matmul
