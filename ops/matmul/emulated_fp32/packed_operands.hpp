// SPDX-License-Identifier: Apache-2.0
// Registry of f32 operands whose parts are kept: products look them up by address and layout.
#pragma once
#include <compare>
#include <cstddef>
#include <cstdint>
#include "ops/matmul/gemm/mixed_problem.hpp"
#include "tessera/core/operation/variant.hpp"

namespace tessera::matmul {

// An operand as lines along k, in the form in which a product reads it.
struct PackedKey {
  const void* data = nullptr;
  std::int64_t lines = 0, k = 0, row_stride = 0, k_stride = 0;
  Compute compute = Compute::f16x3;
  int device = 0;

  auto operator<=>(const PackedKey&) const = default;
};

// Returns null if there is none.
void* find_packed(const PackedKey& key);
void keep_packed(const PackedKey& key, void* data);
void forget_packed(const PackedKey& key, const void* data);
// Returns the number of calls of keep_packed() and forget_packed(). By it callers that cache results of
// find_packed() notice changes.
std::uint32_t packed_changes();

// The packing functions, which a build for GPUs registers.
struct Packer {
  Reason (*refuses)(const Device& device);
  std::size_t (*bytes)(const PackedKey& key);
  void (*pack)(const PackedKey& key, void* data, Run& run);
};
void register_packer(const Packer& packer);
const Packer* find_packer();

}  // namespace tessera::matmul
