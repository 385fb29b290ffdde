// SPDX-License-Identifier: Apache-2.0
// Which thread of rung 11 computes which element of C: said once, for the kernel that writes it and for
// whoever asks who wrote it.
#pragma once
#include <cstdint>
#include "tessera/core/thread.hpp"
#include "tessera/core/variant.hpp"
#include "tile_order.hpp"

namespace tessera::matmul {

struct WarpTilesConfig {
  int m = 128, n = 128, depth = 16;  // of C per block; k per stage
  int stages = 4;
  int warp_m = 64, warp_n = 64;  // of C per warp
  int blocks = 1;                // per multiprocessor
  int lanes_m = 8;               // of a warp's 32, along m; the others lie along n
  int slices = 1;                // of the sum in a block, each with warps and a ring of stages of its own

  constexpr int slice_threads() const { return 32 * (m / warp_m) * (n / warp_n); }
  constexpr int threads() const { return slices * slice_threads(); }
  Tuning tuning() const {
    return {{"m", m}, {"n", n}, {"k", depth}, {"stages", stages}, {"threads", threads()}};
  }
  // Blocks that run together cover a compact patch of C, so that they share panels in the L2.
  constexpr TileOrder order(std::int64_t rows, std::int64_t cols) const {
    const std::int64_t patch = m < 2048 ? 2048 / m : 1;
    return {.rows = static_cast<std::int32_t>((rows + m - 1) / m),
            .cols = static_cast<std::int32_t>((cols + n - 1) / n),
            .group = static_cast<std::int32_t>(patch)};
  }
};

inline namespace TESSERA_UNIT {

// `vector`: the elements of 16 bytes.
template <WarpTilesConfig config, int vector>
struct WarpLayout {
  static constexpr int lanes_m = config.lanes_m, lanes_n = 32 / lanes_m;
  static constexpr int thread_m = config.warp_m / lanes_m, thread_n = config.warp_n / lanes_n;
  static constexpr int warps_n = config.n / config.warp_n;
  static_assert(thread_m % vector == 0 && thread_n % vector == 0 && lanes_m % 2 == 0);

  // In the block's tile: the first of this thread's rows and columns. Lanes are numbered so that
  // either operand's 16-byte load finds its address repeated in a neighbour pair, which halves its
  // passes through shared memory.
  struct Place {
    int m, n;
    SIMT explicit Place(int thread) {
      const int lane = thread % 32, warp = thread / 32;
      m = warp / warps_n * config.warp_m + ((lane / (2 * lanes_n)) * 2 + lane % 2) * vector;
      n = warp % warps_n * config.warp_n + (lane / 2 % lanes_n) * vector;
    }
  };

  // From there on: where the i-th of the thread's rows and the j-th of its columns lie.
  SIMT static constexpr int row_of(int i) { return i / vector * (lanes_m * vector) + i % vector; }
  SIMT static constexpr int col_of(int j) { return j / vector * (lanes_n * vector) + j % vector; }

  // Where sums are sliced: who adds the slices of an element and writes it; the threads take vectors in turn,
  // row by row.
  SIMT static constexpr int adder(int row, int col) {
    return (row * (config.n / vector) + col / vector) % config.threads();
  }

  // Of element (i, j) of C, which is m × n, where each block computes one tile.
  static Owner owner(std::int64_t m, std::int64_t n, std::int64_t i, std::int64_t j) {
    const TileOrder order = config.order(m, n);
    const std::int64_t tile_m = i / config.m, first = tile_m / order.group * order.group;
    const std::int64_t height = order.rows - first < order.group ? order.rows - first : order.group;
    const int row = static_cast<int>(i % config.m), col = static_cast<int>(j % config.n);
    const int block = static_cast<int>(first * order.cols + j / config.n * height + tile_m - first);
    if (config.slices > 1) return {.block = {block, 0, 0}, .thread = {adder(row, col), 0, 0}};
    const int warp = row / config.warp_m * warps_n + col / config.warp_n;
    const int lane_m = row % config.warp_m / vector % lanes_m,
              lane_n = col % config.warp_n / vector % lanes_n;
    const int lane = lane_m / 2 * (2 * lanes_n) + lane_n * 2 + lane_m % 2;
    return {.block = {block, 0, 0}, .thread = {warp * 32 + lane, 0, 0}};
  }
};

}  // namespace TESSERA_UNIT
}  // namespace tessera::matmul
