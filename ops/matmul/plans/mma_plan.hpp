// SPDX-License-Identifier: Apache-2.0
// The host side of rung 12: the layout of tiles in shared memory, and the cost model that chooses the tile
// and split-K. No CUDA calls; host and device code, unit-tested on the host.
//
// A line is a row of A or a column of B. A fragment is 16 lines by 16 steps of k of an operand, the lines in
// two halves; lane 4·g + t holds parts of line g of each half.
#pragma once
#include <cstdint>
#include <span>
#include "ops/matmul/plans/tile_order.hpp"
#include "ops/matmul/matmul.hpp"
#include "ops/matmul/gemm/mixed_problem.hpp"
#include "tessera/core/device/device.hpp"

namespace tessera::matmul {

struct MmaConfig {
  int rows = 128, cols = 128;          // tile of C per block
  int warp_rows = 64, warp_cols = 64;  // tile of C per warp
  int stages = 3;                      // each 128 bytes along k
  int blocks = 2;                      // per multiprocessor
  int slices = 1;  // sliced-K: parts of the sum in a block, each with its own warps and ring of stages

  constexpr int warps_across() const { return cols / warp_cols; }
  constexpr int slice_threads() const { return rows / warp_rows * warps_across() * 32; }
  constexpr int threads() const { return slices * slice_threads(); }
  constexpr int slice_bytes() const { return stages * (rows + cols) * 128; }
  constexpr int shared_bytes() const { return slices * slice_bytes(); }
};

// The contiguous direction of an operand and of its panel in shared memory: the steps of k of a line, or the
// lines of one step. Both have the same, so copies never transpose.
enum class Along : std::uint8_t { k, lines };

// A stage of one operand, in rows of multiples of 128 bytes. Each 128 bytes are swizzled in pieces of 16
// bytes, so that lanes that load together access different banks.
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
  // Returns the offset `more` rows below; `more` and the row at `offset` must have no common bits.
  TESSERA_HOST_DEVICE static constexpr int advance_rows(int offset, int more) {
    return (offset ^ swizzled(more)) + more * row_bytes;
  }

 private:
  // Swizzles so that 16 bytes of each of eight neighbouring rows, or 32 of each of four, fill the banks.
  TESSERA_HOST_DEVICE static constexpr int swizzled(int row) {
    return bytes == 2 ? (row & 7) << 4 : (row & 3) << 5;
  }
};

// The units that a thread copies: `unit` elements each, row after row.
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

// Offsets of a lane's parts of the fragments of doubles: line g of half h, steps 4·s + t of k. A few base
// offsets are kept; the others are at compile-time distances from them.
template <class Panel>
struct MmaLoads64 {
  static constexpr bool along_k = Panel::along == Along::k;
  static constexpr int kept = along_k ? 4 : 2;
  int base[kept];

  // `line`: the warp's first line, a multiple of 16.
  TESSERA_HOST_DEVICE constexpr MmaLoads64(int line, int lane) : base() {
    for (int i = 0; i < kept; ++i)
      base[i] = along_k ? Panel::offset(line + lane / 4, 4 * i + lane % 4)
                        : Panel::offset(line + 8 * i + lane / 4, lane % 4);
  }
  TESSERA_HOST_DEVICE constexpr int offset(int fragment, int half, int s) const {
    return along_k ? base[s] + (16 * fragment + 8 * half) * Panel::row_bytes
                   : base[half % kept] + 4 * s * Panel::row_bytes + 16 * fragment * Panel::bytes;
  }
};

// Offsets for ldmatrix of 16-bit elements: four matrices of eight lines by eight steps of k; lane i gives the
// address of row i % 8 of matrix i / 8. The first two matrices are the halves at the first eight steps.
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
  TESSERA_HOST_DEVICE constexpr int offset(int fragment, int step) const {
    return along_k ? base[step] + 16 * fragment * Panel::row_bytes
                   : base[fragment % 4] + 16 * step * Panel::row_bytes + fragment / 4 * 128;
  }
};

// The position of two of a lane's accumulators for a fragment of A times half a fragment of B: elements
// (row, col) and (row, col + 1), in the upper eight rows or, with `below` = 1, the lower eight.
struct RowAndCol {
  int row, col;
};
TESSERA_HOST_DEVICE constexpr RowAndCol mma_result(int lane, int half, int below) {
  return {8 * below + lane / 4, 8 * half + lane % 4 * 2};
}

// Returns the offset in bytes of a warp's result that is staged in shared memory: rows of `cols`, swizzled so
// that pairs are written without bank conflicts.
template <int sum_bytes, int cols>
TESSERA_HOST_DEVICE constexpr int mma_result_offset(int row, int col) {
  const int swizzled = sum_bytes == 8 ? (row & 1) << 6 : (row & 3) << 5;
  return row * (cols * sum_bytes) + (col * sum_bytes ^ swizzled);
}

// Returns the same for a column-major result: columns of `rows` elements, padded by 16 bytes.
template <int sum_bytes, int rows>
TESSERA_HOST_DEVICE constexpr int mma_column_offset(int row, int col) {
  return col * (rows * sum_bytes + 16) + row * sum_bytes;
}
// Returns the number of bytes for the results of one warp, in either order.
template <int sum_bytes, int rows, int cols>
constexpr int mma_result_bytes() {
  return cols * (rows * sum_bytes + 16);
}

// The choice of rung 12's tile and splits, by a model of the resources of a multiprocessor.

// The tiles that have kernels. Small ones give every multiprocessor work, and their resident blocks hide each
// other's prologues and epilogues.
inline constexpr MmaConfig mma_f64_tiles[] = {
    {128, 128, 64, 32, 6, 1},  {128, 64, 64, 32, 4, 2},
    {64, 64, 32, 32, 4, 3},    {32, 64, 32, 32, 3, 3, 2},  // two warps compute each half of the sum
    {16, 128, 16, 32, 6, 2},                               // for products that mostly stream B
    {32, 32, 32, 32, 3, 2, 4},  // from here on, a warp computes all of the tile for a slice of the sum
    {16, 32, 16, 32, 3, 2, 4}, {16, 32, 16, 32, 3, 1, 8}};
inline constexpr MmaConfig mma_half_tiles[] = {{128, 128, 64, 32, 5, 1}, {64, 64, 32, 32, 4, 3}};

// An element type that the kernels multiply: its tiles, and the bytes of an element and an accumulator.
struct MmaElement {
  std::span<const MmaConfig> tiles;
  int bytes, sum_bytes;
};
inline constexpr MmaElement mma_f64{mma_f64_tiles, 8, 8}, mma_half{mma_half_tiles, 2, 4};

struct MmaPlan {
  int tile = 0;
  TileOrder order;
  std::int32_t k_stages = 0, split_k_stages = 0;  // in all, and per split
  double cycles = 0;                              // by the model
};

// The caller's choice; 0: the model's. Splits that exceed the workspace are ignored.
struct MmaOptions {
  int tile = 0;  // counted from 1
  int splits = 0, group = 0;
};

// The GPU: multiprocessors, and bytes of shared memory available to a block.
struct MmaMachine {
  int multiprocessors;
  std::int64_t shared_bytes;
};

// The maximum size of the workspace for split-K partial sums.
inline constexpr std::int64_t max_mma_partial_bytes = std::int64_t{64} << 20;
// Returns the workspace of a plan; 0: it needs none.
std::size_t mma_workspace_bytes(const MmaElement& element, const MmaPlan& plan);

// Chooses a plan; m, n ≥ 1, k ≥ 0. A requested tile that exceeds the machine's shared memory is ignored.
// in_pieces: both operands are copied 16 bytes at a time; false: doubles of both are copied one by one.
MmaPlan plan_mma(const MmaElement& element, std::int64_t m, std::int64_t n, std::int64_t k,
                 const MmaMachine& machine, const MmaOptions& options = {}, bool in_pieces = true);

// The arguments for launches of rung 12's kernels.

// An operand by its lines: rows of A, columns of B; strides in elements.
struct MmaMatrixRef {
  const void* data;
  std::int64_t lines, line_stride, k_stride;

  Along along() const;  // the contiguous dimension, or the one with the smaller stride
  // True if elements of `bytes` can be copied in 16-byte pieces along that dimension, from an aligned `data`.
  bool has_aligned_lines(int bytes, std::int64_t k) const;
};

struct MmaJob {
  MmaMatrixRef a, b;
  std::int64_t k;
  // Computes Cᵀ = Bᵀ·Aᵀ into C's memory: when C is taller than wide, or square and column-major.
  bool transposed;
  MmaPlan plan;

  const MmaMatrixRef& left() const { return transposed ? b : a; }
  const MmaMatrixRef& right() const { return transposed ? a : b; }
};

// Returns the compute capability for which the code that the device runs was compiled, e.g. 80 or 90; 75 if
// that code lacks these instructions; 0: there is none.
int mma_code(const Device& device);

void run_mma(const Problem<double>& p, const MmaJob& job, Run& run);
void run_mma_bf16(const MixedProblem& p, const MmaJob& job, Run& run);
void run_mma_f16(const MixedProblem& p, const MmaJob& job, Run& run);

}  // namespace tessera::matmul
