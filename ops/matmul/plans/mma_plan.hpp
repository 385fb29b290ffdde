// SPDX-License-Identifier: Apache-2.0
// Rung 12 before its kernel: the layout of tiles in shared memory, and the cost model that chooses the tile
// and split-K. Plain arithmetic, so that tests put the pieces together as the tensor cores do.
//
// A line is a row of A or a column of B. The tensor cores' operands are blocks of 16 lines by 16 steps of k,
// the lines in two halves; lane 4·g + t has parts of line g of each half.
#pragma once
#include <cstdint>
#include <span>
#include "ops/matmul/plans/tile_order.hpp"
#include "ops/matmul/matmul.hpp"
#include "ops/matmul/gemm/mixed_problem.hpp"
#include "tessera/core/device.hpp"

namespace tessera::matmul {

struct MmaConfig {
  int rows = 128, cols = 128;          // of C per block
  int warp_rows = 64, warp_cols = 64;  // of C per warp
  int stages = 3;                      // of 128 bytes along k
  int blocks = 2;                      // per multiprocessor
  int slices = 1;  // of the sum in a block, each with warps and a ring of stages of its own

  constexpr int warps_across() const { return cols / warp_cols; }
  constexpr int slice_threads() const { return rows / warp_rows * warps_across() * 32; }
  constexpr int threads() const { return slices * slice_threads(); }
  constexpr int slice_bytes() const { return stages * (rows + cols) * 128; }
  constexpr int shared_bytes() const { return slices * slice_bytes(); }
};

// What lies next to each other, in an operand and in its panel in shared memory: a line's steps of k, or all
// lines of one step. So copies need no turning, whatever the layout.
enum class Along : std::uint8_t { k, lines };

// A stage of one operand, in rows that are multiples of 128 bytes. In each of those, pieces of 16 bytes are
// exchanged so that lanes that load together find theirs in different banks.
template <int bytes_, int lines, Along along_>
struct MmaPanel {
  static constexpr Along along = along_;
  static constexpr int bytes = bytes_, depth = 128 / bytes, piece = 16 / bytes, size = lines * 128;
  static constexpr int rows = along == Along::k ? lines : depth, width = along == Along::k ? depth : lines;
  static constexpr int row_bytes = width * bytes;
  static_assert(row_bytes % 128 == 0);

  // In bytes.
  TESSERA_HOST_DEVICE static constexpr int offset_in_row(int row, int at) {
    return row * row_bytes + (at * bytes ^ swizzled(row));
  }
  TESSERA_HOST_DEVICE static constexpr int offset(int line, int k) {
    return along == Along::k ? offset_in_row(line, k) : offset_in_row(k, line);
  }
  // `more` rows below an offset whose row has none of the bits of `more`.
  TESSERA_HOST_DEVICE static constexpr int advance_rows(int offset, int more) {
    return (offset ^ swizzled(more)) + more * row_bytes;
  }

 private:
  // 16 bytes of each of eight neighbouring rows, or 32 of each of four, fill the banks.
  TESSERA_HOST_DEVICE static constexpr int swizzled(int row) {
    return bytes == 2 ? (row & 7) << 4 : (row & 3) << 5;
  }
};

// Which units a thread copies: `unit` elements at once, row below row.
template <class Panel, int threads>
struct MmaThreadMap {
  struct First {
    int row, at;
  };
  TESSERA_HOST_DEVICE static constexpr First first(int thread, int unit) {
    return {thread / (Panel::width / unit), thread % (Panel::width / unit) * unit};
  }
  TESSERA_HOST_DEVICE static constexpr int step(int unit) {
    return threads * unit / Panel::width;
  }  // rows to the next one
  TESSERA_HOST_DEVICE static constexpr int passes(int unit) { return Panel::rows / step(unit); }
};

// Where a lane finds its part of block after block, of doubles: from line g of half h, steps 4·s + t of k. A
// few places are kept; from them to the others it is a distance that the compiler knows.
template <class Panel>
struct MmaLoads64 {
  static constexpr bool along_k = Panel::along == Along::k;
  static constexpr int kept = along_k ? 4 : 2;
  int base[kept];

  // `line`: the first of the warp's, a multiple of 16.
  TESSERA_HOST_DEVICE constexpr MmaLoads64(int line, int lane) : base() {
    for (int i = 0; i < kept; ++i)
      base[i] = along_k ? Panel::offset(line + lane / 4, 4 * i + lane % 4)
                        : Panel::offset(line + 8 * i + lane / 4, lane % 4);
  }
  TESSERA_HOST_DEVICE constexpr int offset(int block, int half, int s) const {
    return along_k ? base[s] + (16 * block + 8 * half) * Panel::row_bytes
                   : base[half % kept] + 4 * s * Panel::row_bytes + 16 * block * Panel::bytes;
  }
};

// Of 16 bits: four matrices of eight lines by eight steps of k; lane i says where row i % 8 of the i / 8-th
// is. The first two are the halves at the first eight steps.
template <class Panel>
struct MmaLoads16 {
  static constexpr bool along_k = Panel::along == Along::k;
  int base[4];

  TESSERA_HOST_DEVICE constexpr MmaLoads16(int line, int lane) : base() {
    const int of_line = along_k ? lane % 16 : lane / 8 % 2 * 8,
              of_k = along_k ? lane / 16 * 8 : lane / 16 * 8 + lane % 8;
    for (int i = 0; i < 4; ++i)
      base[i] = along_k ? Panel::offset(line + of_line, 16 * i + of_k)
                        : Panel::offset(line + 16 * i + of_line, of_k);
  }
  TESSERA_HOST_DEVICE constexpr int offset(int block, int step) const {
    return along_k ? base[step] + 16 * block * Panel::row_bytes
                   : base[block % 4] + 16 * step * Panel::row_bytes + block / 4 * 128;
  }
};

// A lane's sums from a block of A times half a block of B: elements (row, col) and (row, col + 1), `below` or
// not.
struct RowAndCol {
  int row, col;
};
TESSERA_HOST_DEVICE constexpr RowAndCol mma_result(int lane, int half, int below) {
  return {8 * below + lane / 4, 8 * half + lane % 4 * 2};
}

// A warp's results on their way out, in bytes: rows of `cols`, in which pairs are written without bank
// conflicts.
template <int sum_bytes, int cols>
TESSERA_HOST_DEVICE constexpr int mma_result_offset(int row, int col) {
  const int swizzled = sum_bytes == 8 ? (row & 1) << 6 : (row & 3) << 5;
  return row * (cols * sum_bytes) + (col * sum_bytes ^ swizzled);
}

// The same where the rows' neighbours lie beside each other in C: columns of `rows`, 16 bytes apart.
template <int sum_bytes, int rows>
TESSERA_HOST_DEVICE constexpr int mma_column_offset(int row, int col) {
  return col * (rows * sum_bytes + 16) + row * sum_bytes;
}
// Of one warp, in either order.
template <int sum_bytes, int rows, int cols>
constexpr int mma_result_bytes() {
  return cols * (rows * sum_bytes + 16);
}

// Which tile rung 12 cuts a product into, and whether its sums are split: by a model of what binds a
// multiprocessor. Plain arithmetic.

// The tiles that kernels are made for. The small ones give every multiprocessor something to do, and blocks
// there hide each other's beginnings and ends; the fifth is for what is little more than a stream of B. Two
// warps of the fourth have one half of the sum, two the other. In the last three, which are for small
// products, each warp has the whole tile for a slice of the sum: operands pass through shared memory less
// often, and warps wait for each other only once.
inline constexpr MmaConfig mma_f64_tiles[] = {{128, 128, 64, 32, 6, 1},  {128, 64, 64, 32, 4, 2},
                                              {64, 64, 32, 32, 4, 3},    {32, 64, 32, 32, 3, 3, 2},
                                              {16, 128, 16, 32, 6, 2},   {32, 32, 32, 32, 3, 2, 4},
                                              {16, 32, 16, 32, 3, 2, 4}, {16, 32, 16, 32, 3, 1, 8}};
inline constexpr MmaConfig mma_half_tiles[] = {{128, 128, 64, 32, 5, 1}, {64, 64, 32, 32, 4, 3}};

// What the kernels multiply: bytes of an element and of a sum.
struct MmaElement {
  std::span<const MmaConfig> tiles;
  int bytes, sum_bytes;
};
inline constexpr MmaElement mma_f64{mma_f64_tiles, 8, 8}, mma_half{mma_half_tiles, 2, 4};

struct MmaPlan {
  int tile = 0;
  TileOrder order;
  std::int32_t depth = 0, split_depth = 0;  // stages, in all and of each split
  double cycles = 0;                        // what the model tells
};

// What the caller would have; 0: the model's choice. More splits than spare memory holds are none.
struct MmaOptions {
  int tile = 0;  // counted from 1
  int splits = 0, group = 0;
};

// What runs it: multiprocessors, and bytes of shared memory that a block may have.
struct MmaMachine {
  int processors;
  std::int64_t shared_bytes;
};

// Spare memory for the sums of splits, at most.
inline constexpr std::int64_t max_mma_partial_bytes = std::int64_t{64} << 20;
// Of one plan; 0 where it has none.
std::size_t mma_workspace_bytes(const MmaElement& element, const MmaPlan& plan);

// m, n ≥ 1, k ≥ 0. A requested tile that the machine has no room for is ignored.
MmaPlan plan_mma(const MmaElement& element, std::int64_t m, std::int64_t n, std::int64_t k,
                 const MmaMachine& machine, const MmaOptions& options = {});

// What rung 12 hands to the launches of its kernels.

// An operand by its lines: rows of A, columns of B; steps in elements.
struct MmaMatrixRef {
  const void* data;
  std::int64_t lines, line_step, k_step;
};

struct MmaJob {
  MmaMatrixRef a, b;
  std::int64_t k;
  // Cᵀ = Bᵀ·Aᵀ is computed, and written where C lies: for results whose columns are contiguous.
  bool transposed;
  MmaPlan plan;

  const MmaMatrixRef& left() const { return transposed ? b : a; }
  const MmaMatrixRef& right() const { return transposed ? a : b; }
};

// The compute capability for which the code was compiled that a device runs: 75, or 90; 0: there is none.
int mma_code(const Device& device);

void run_mma(const Problem<double>& p, const MmaJob& job, Run& run);
void run_mma_bf16(const MixedProblem& p, const MmaJob& job, Run& run);
void run_mma_f16(const MixedProblem& p, const MmaJob& job, Run& run);

}  // namespace tessera::matmul
