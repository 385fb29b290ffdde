// SPDX-License-Identifier: Apache-2.0
// A matrix operand in memory, and the copies of the other operand that its alignment requires. No CUDA calls.
#pragma once
#include <cstdint>
#include "ops/matmul/plans/tile_order.hpp"

namespace tessera::matmul {

// An operand: A as it is, B transposed, so that rows are rows of A or columns of B (mn).
struct MatrixRef {
  const void* data;
  int bytes;  // per element
  std::int64_t rows, k, row_stride, k_stride;
};

// The TMA can read a large K-major operand in place though its rows are misaligned: rows i, i + c, i + 2c, …
// (a class, c = 1, 2, 4 or 8) have the same address modulo 16, so one tensor map based at the 16-byte
// boundary below covers them. The other, small operand is copied once for each class, with as many zeros in
// front of its rows as the tensor map's base precedes them.
struct RowAlignment {
  static constexpr int max_classes = 8;  // c = 16 (1-byte elements, odd row stride) has no kernel

  std::int32_t class_bits = 0;  // classes() is 1 << class_bits
  // The first row's address modulo 16, and the distance from each row to the next, modulo 16.
  std::int32_t first_bytes = 0, step_bytes = 0;

  // Returns the number of bytes from the 16-byte boundary to row i; the zeros in front of the rows of copy i.
  TESSERA_HOST_DEVICE int misalignment_bytes(int i) const { return (first_bytes + i * step_bytes) & 15; }
  TESSERA_HOST_DEVICE int classes() const { return 1 << class_bits; }
};
inline RowAlignment row_alignment(const MatrixRef& f) {
  RowAlignment out;
  out.first_bytes = static_cast<std::int32_t>(reinterpret_cast<std::uintptr_t>(f.data) % 16);
  if (f.rows > 1) out.step_bytes = static_cast<std::int32_t>(f.row_stride * f.bytes % 16);
  while ((out.step_bytes << out.class_bits) % 16 != 0) ++out.class_bits;
  return out;
}

}  // namespace tessera::matmul
