// SPDX-License-Identifier: Apache-2.0
// Operands that the copy engine cannot read, as lines along k that it can: the others' only cost.
#pragma once
#include <cstdint>

namespace tessera::matmul {

inline constexpr int pack_tile = 64;

// Of an operand's lines (rows of A, columns of B): element (line, i) lies at line·line_step + i·k_step.
struct PackArgs {
  const std::uint16_t* from;
  std::int64_t lines, k, line_step, k_step;
  std::uint16_t* to;
  std::int64_t to_step;  // a multiple of 8
};

// A tile of 64 × 64 by way of shared memory: read along what is contiguous, written along k, two elements at once.
template <class Word>
__global__ void __launch_bounds__(256) pack_lines(const __grid_constant__ PackArgs args) {
  static_assert(sizeof(Word) == 2);
  __shared__ Word tile[pack_tile][pack_tile + 2];
  const std::int64_t first_line = std::int64_t{blockIdx.y} * pack_tile, first = std::int64_t{blockIdx.x} * pack_tile;
  const bool along_k = args.k_step <= args.line_step;
  const int fast = static_cast<int>(threadIdx.x) % pack_tile, slow = static_cast<int>(threadIdx.x) / pack_tile;
#pragma unroll
  for (int i = 0; i < pack_tile; i += 4) {
    const int line = along_k ? slow + i : fast, at = along_k ? fast : slow + i;
    const bool inside = first_line + line < args.lines && first + at < args.k;
    tile[line][at] =
        inside ? args.from[(first_line + line) * args.line_step + (first + at) * args.k_step] : Word{0};
  }
  __syncthreads();
  const int pair = static_cast<int>(threadIdx.x) % 32 * 2, start = static_cast<int>(threadIdx.x) / 32;
#pragma unroll
  for (int line = start; line < pack_tile; line += 8)
    if (first_line + line < args.lines && first + pair < args.to_step)
      *reinterpret_cast<std::uint32_t*>(args.to + (first_line + line) * args.to_step + first + pair) =
          *reinterpret_cast<const std::uint32_t*>(&tile[line][pair]);
}

}  // namespace tessera::matmul
