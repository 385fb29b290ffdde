// SPDX-License-Identifier: Apache-2.0
// A matrix operand in memory, and what its alignment requires of the other operand. Plain arithmetic.
#pragma once
#include <cstdint>
#include "ops/matmul/kernels/tile_order.hpp"

namespace tessera::matmul {

// An operand: A as it is, B transposed, so that rows are rows of A or columns of B (mn).
struct MatrixRef {
  const void* data;
  int bytes;  // of an element
  std::int64_t lines, k, line_step, k_step;
};

// The TMA can read a large K-major operand in place though its rows are misaligned: rows i, i + c, i + 2c, …
// (a class, c = 1, 2, 4 or 8) have the same address modulo 16, so one tensor map based at the 16-byte
// boundary below covers them. The other, small operand is copied once for each class, with as many zeros in
// front of its rows as the tensor map's base precedes them.
struct LeadingZeros {
  static constexpr int most = 8;  // c = 16 (1-byte elements, odd row stride) has no kernel

  std::int32_t bits = 0;             // 1 << bits classes
  std::int32_t first = 0, step = 0;  // the first row's address modulo 16, and from each row to the next

  // Bytes from the 16-byte boundary to row i; the zeros in front of the rows of copy i.
  TESSERA_HOST_DEVICE int of(int i) const { return (first + i * step) & 15; }
  TESSERA_HOST_DEVICE int count() const { return 1 << bits; }
};
inline LeadingZeros leading_zeros(const MatrixRef& f) {
  LeadingZeros out;
  out.first = static_cast<std::int32_t>(reinterpret_cast<std::uintptr_t>(f.data) % 16);
  if (f.lines > 1) out.step = static_cast<std::int32_t>(f.line_step * f.bytes % 16);
  while ((out.step << out.bits) % 16 != 0) ++out.bits;
  return out;
}

}  // namespace tessera::matmul
