// SPDX-License-Identifier: Apache-2.0
// A matrix operand in memory, and what its alignment requires of the other operand. Plain arithmetic.
#pragma once
#include <cstdint>
#include "ops/matmul/kernels/tile_order.hpp"

namespace tessera::matmul {

// An operand by its lines along k: rows of A, columns of B.
struct MatrixRef {
  const void* data;
  int bytes;  // of an element
  std::int64_t lines, k, line_step, k_step;
};

// A large operand's lines along k may begin anywhere and yet be read where they lie: every second, fourth or
// eighth line's address leaves the same remainder modulo 16, and from the aligned address before it such
// lines look as if so many elements came first. The other, small operand is copied once for each remainder,
// with as many zeros in front of its lines.
struct LeadingZeros {
  static constexpr int most =
      8;  // remainders for which there are kernels: all but those of odd lines of bytes

  std::int32_t bits = 0;             // 1 << bits remainders
  std::int32_t first = 0, step = 0;  // the first line's remainder, and from each to the next, in bytes

  // In front of copy i, and of line i of the large operand; in bytes.
  TESSERA_HOST_DEVICE int of(int i) const { return (first + i * step) & 15; }
  TESSERA_HOST_DEVICE int count() const { return 1 << bits; }
};
// Of a large operand.
inline LeadingZeros leading_zeros(const MatrixRef& f) {
  LeadingZeros out;
  out.first = static_cast<std::int32_t>(reinterpret_cast<std::uintptr_t>(f.data) % 16);
  if (f.lines > 1) out.step = static_cast<std::int32_t>(f.line_step * f.bytes % 16);
  while ((out.step << out.bits) % 16 != 0) ++out.bits;
  return out;
}

}  // namespace tessera::matmul
