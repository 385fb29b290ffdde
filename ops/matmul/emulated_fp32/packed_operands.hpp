// SPDX-License-Identifier: Apache-2.0
// f32 operands whose parts are kept: by where and how they lie, products find what was made of them before.
#pragma once
#include <compare>
#include <cstddef>
#include <cstdint>
#include "ops/matmul/gemm/mixed_problem.hpp"
#include "tessera/core/variant.hpp"

namespace tessera::matmul {

// An operand by its lines along k, as a product reads it.
struct PackedKey {
  const void* data = nullptr;
  std::int64_t lines = 0, k = 0, row_stride = 0, k_stride = 0;
  Compute compute = Compute::f16x3;
  int device = 0;

  auto operator<=>(const PackedKey&) const = default;
};

// Null where there is none.
void* find_packed(const PackedKey& key);
void keep_packed(const PackedKey& key, void* data);
void forget_packed(const PackedKey& key, const void* data);
// How often either was called: who remembers what to do with the operands that are kept asks again then.
std::uint32_t packed_changes();

// How a build for GPUs makes them.
struct Packer {
  Reason (*refuses)(const Device& device);
  std::size_t (*bytes)(const PackedKey& key);
  void (*pack)(const PackedKey& key, void* data, Run& run);
};
void register_packer(const Packer& packer);
const Packer* find_packer();

}  // namespace tessera::matmul
