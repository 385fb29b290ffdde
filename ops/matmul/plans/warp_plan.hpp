// SPDX-License-Identifier: Apache-2.0
// The host side of rung 11: the assignment of elements to threads (WarpLayout) and of sums to blocks
// (StreamK), and the cost model that chooses a tile (plan_warp_tiles). No CUDA calls; host and device code,
// unit-tested on the host.
//
// The kernel and Owner queries share one definition of the thread that computes an element of C.
#pragma once
#include <cstdint>
#include <span>
#include "ops/matmul/plans/tile_order.hpp"
#include "tessera/core/device/thread.hpp"
#include "tessera/core/operation/variant.hpp"

namespace tessera::matmul {

struct WarpTilesConfig {
  int m = 128, n = 128, depth = 16;  // tile of C per block; k per stage
  int stages = 4;
  int warp_m = 64, warp_n = 64;  // tile of C per warp
  int blocks = 1;                // per multiprocessor
  int lanes_m = 8;               // lanes along m; a warp has 32 / lanes_m along n
  int slices = 1;                // sliced-K: parts of the sum in a block, each with its own warps and stages
  int run = 1;  // steps per thread of eight steps of a line along k: more cost fewer registers

  constexpr int slice_threads() const { return 32 * (m / warp_m) * (n / warp_n); }
  constexpr int threads() const { return slices * slice_threads(); }
  Tuning tuning() const {
    return {{"m", m}, {"n", n}, {"k", depth}, {"stages", stages}, {"threads", threads()}};
  }
  // Concurrent blocks cover a compact patch of C, so that they share panels in the L2.
  constexpr TileOrder order(std::int64_t rows, std::int64_t cols) const {
    const std::int64_t patch = m < 2048 ? 2048 / m : 1;
    return {.rows = static_cast<std::int32_t>((rows + m - 1) / m),
            .cols = static_cast<std::int32_t>((cols + n - 1) / n),
            .raster_rows = static_cast<std::int32_t>(patch)};
  }
};

inline namespace TESSERA_UNIT {

// `vector`: elements per 16 bytes.
template <WarpTilesConfig config, int vector>
struct WarpLayout {
  static constexpr int lanes_m = config.lanes_m, lanes_n = 32 / lanes_m;
  static constexpr int thread_m = config.warp_m / lanes_m, thread_n = config.warp_n / lanes_n;
  static constexpr int warps_n = config.n / config.warp_n;
  static_assert(thread_m % vector == 0 && thread_n % vector == 0 && lanes_m % 2 == 0);

  // The first of this thread's rows and columns in the block's tile. Lanes are numbered so that pairs of
  // neighbours load the same 16 bytes of either operand, which halves the wavefronts of shared memory.
  struct ThreadOffset {
    int m, n;
    SIMT explicit ThreadOffset(int thread) {
      const int lane = thread % 32, warp = thread / 32;
      m = warp / warps_n * config.warp_m + ((lane / (2 * lanes_n)) * 2 + lane % 2) * vector;
      n = warp % warps_n * config.warp_n + (lane / 2 % lanes_n) * vector;
    }
  };

  // The offsets from there of the thread's i-th row and j-th column.
  SIMT static constexpr int row_of(int i) { return i / vector * (lanes_m * vector) + i % vector; }
  SIMT static constexpr int col_of(int j) { return j / vector * (lanes_n * vector) + j % vector; }

  // Returns the thread that adds the slices of an element and writes it: the threads take vectors in turn,
  // row by row.
  SIMT static constexpr int adder(int row, int col) {
    return (row * (config.n / vector) + col / vector) % config.threads();
  }

  // Returns the owner of element (i, j) of C, m × n, if each block computes one tile.
  static Owner owner(std::int64_t m, std::int64_t n, std::int64_t i, std::int64_t j) {
    const TileOrder order = config.order(m, n);
    const std::int64_t tile_m = i / config.m, first = tile_m / order.raster_rows * order.raster_rows;
    const std::int64_t height =
        order.rows - first < order.raster_rows ? order.rows - first : order.raster_rows;
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

// Stream-K: the first blocks compute a tile of C each (data-parallel). The iterations of the other tiles, a
// stage each, one tile after the other, are divided evenly among the other blocks across tile boundaries.
// This keeps all multiprocessors busy even with few tiles.

struct StreamK {
  std::int32_t tiles = 0, data_parallel_tiles = 0;  // in all; those of the first blocks
  std::int32_t stages = 1;                          // per tile
  // A tile's stages, or more, so that a block's iterations end with a tile.
  std::int32_t iterations_per_tile = 1;
  std::int32_t iterations_per_block = 1;

  TESSERA_HOST_DEVICE std::int64_t stream_k_iterations() const {
    return std::int64_t{tiles - data_parallel_tiles} * iterations_per_tile;
  }
  TESSERA_HOST_DEVICE std::int64_t blocks() const {
    return data_parallel_tiles + (stream_k_iterations() + iterations_per_block - 1) / iterations_per_block;
  }

  // Consecutive stages of one tile's sum, computed by one block.
  struct Segment {
    std::int32_t tile, first, end;  // stages
    // The first and the last block that compute segments of the tile, counted from the first stream-K block.
    std::int32_t from, to;
    std::int64_t next;  // the block's next iteration

    TESSERA_HOST_DEVICE bool is_whole_tile() const { return from == to; }
  };

  // A block's iterations are begin() to end() - 1; a data-parallel block only has iteration 0.
  TESSERA_HOST_DEVICE std::int64_t begin(std::int32_t block) const {
    return block < data_parallel_tiles ? 0 : std::int64_t{block - data_parallel_tiles} * iterations_per_block;
  }
  TESSERA_HOST_DEVICE std::int64_t end(std::int32_t block) const {
    if (block < data_parallel_tiles) return 1;
    const std::int64_t end = (std::int64_t{block - data_parallel_tiles} + 1) * iterations_per_block,
                       most = stream_k_iterations();
    return end < most ? end : most;
  }
  // The blocks that compute segments of a stream-K tile.
  struct Blocks {
    std::int32_t from, to;
  };
  TESSERA_HOST_DEVICE Blocks blocks_of(std::int32_t tile) const {
    const std::int64_t before = std::int64_t{tile - data_parallel_tiles} * iterations_per_tile;
    return {static_cast<std::int32_t>(before / iterations_per_block),
            static_cast<std::int32_t>((before + iterations_per_tile - 1) / iterations_per_block)};
  }
  // Returns the segment from iteration `at` on; begin(block) ≤ at < end(block).
  TESSERA_HOST_DEVICE Segment segment(std::int32_t block, std::int64_t at) const {
    if (block < data_parallel_tiles) return {block, 0, stages, 0, 0, 1};
    const auto tile = static_cast<std::int32_t>(at / iterations_per_tile);
    const std::int64_t before = std::int64_t{tile} * iterations_per_tile,
                       after = before + iterations_per_tile, stop = end(block);
    const std::int64_t next = stop < after ? stop : after;
    const auto last = static_cast<std::int32_t>(next - before);
    const Blocks all = blocks_of(data_parallel_tiles + tile);
    return {data_parallel_tiles + tile,
            static_cast<std::int32_t>(at - before),
            last < stages ? last : stages,
            all.from,
            all.to,
            next};
  }
  // Returns the slot in the workspace for a block's partial sum of a tile. From one segment to the next
  // either the block or the tile advances, so slots are distinct and those of one tile are consecutive.
  TESSERA_HOST_DEVICE std::int64_t slot(std::int32_t block, std::int32_t tile) const {
    return std::int64_t{block} + tile - data_parallel_tiles;
  }
  TESSERA_HOST_DEVICE std::int64_t slots() const {
    return data_parallel_tiles == tiles ? 0
                                        : blocks() - data_parallel_tiles + tiles - data_parallel_tiles - 1;
  }
};

// The choice of rung 11's tile for a product of floats and of the division of work among blocks, by a model
// of the resources of a multiprocessor.

// The tiles that have kernels: for large results; for small ones; for small products two whose warps have the
// whole tile each, for a slice of the sum, with a single barrier; for few rows; two with more warps, for one
// or two blocks per multiprocessor and operands along k; and a single warp, for few rows with long sums.
inline constexpr WarpTilesConfig warp_large{.depth = 8, .stages = 5, .blocks = 2, .run = 2},
    warp_small{.m = 64, .n = 64, .warp_m = 32, .warp_n = 32, .blocks = 4, .lanes_m = 4},
    warp_sliced{.m = 16, .n = 64, .depth = 8, .warp_m = 16, .blocks = 2, .lanes_m = 2, .slices = 8},
    warp_sliced_small{
        .m = 32, .n = 32, .depth = 8, .stages = 4, .warp_m = 32, .warp_n = 32, .blocks = 2, .slices = 8},
    warp_flat{.m = 32, .n = 64, .warp_m = 32, .warp_n = 32, .blocks = 6, .lanes_m = 4},
    warp_eight{.depth = 8, .stages = 6, .warp_m = 32, .lanes_m = 4},
    warp_half{.m = 64, .depth = 8, .stages = 5, .warp_m = 32, .warp_n = 32, .blocks = 2, .lanes_m = 4},
    warp_thin{.m = 16, .n = 64, .depth = 8, .stages = 6, .warp_m = 16, .blocks = 4, .lanes_m = 2};
inline constexpr WarpTilesConfig warp_tiles[] = {warp_large, warp_small, warp_sliced, warp_sliced_small,
                                                 warp_flat,  warp_eight, warp_half,   warp_thin};
inline constexpr int warp_tile_count = static_cast<int>(sizeof warp_tiles / sizeof *warp_tiles);

struct WarpPlan {
  int tile = 0;
  TileOrder order;
  StreamK stream_k;
  double cycles = 0;  // by the model
};

// The caller's choice; 0: the model's. Splits are equal parts of each tile's sum.
struct WarpOptions {
  int tile = 0;  // counted from 1
  int splits = 0;
  // The parts of every sum, at the same multiples of 32 products with every tile: one thread adds the
  // products of each part of an element, in the order of k, and then the parts in their order. 0: any.
  int exact_parts = 0;
};

struct WarpMachine {
  int multiprocessors;
  std::int64_t shared_bytes;  // available to a block
};

// Returns the size in bytes of shared memory, with the padding of 16 bytes between the rows of a panel.
constexpr std::int64_t warp_shared_bytes(const WarpTilesConfig& config, std::int64_t element) {
  return std::int64_t{config.slices} * config.stages * config.depth * ((config.m + config.n) * element + 32);
}

// The maximum of workspace for partial sums.
inline constexpr std::int64_t max_warp_partial_bytes = std::int64_t{64} << 20;
// Returns the workspace that a plan's partial sums need, a multiple of 256; 0 if it has none.
std::size_t warp_workspace_bytes(const WarpPlan& plan);

// Returns the number of parts for products with this n and k and any number of rows: that which minimises the
// product of the times for few and for many rows.
int warp_parts_of_any_rows(std::int64_t n, std::int64_t k, const WarpMachine& machine);
// Returns the number of rows whose partial sums fit the workspace, a multiple of the largest tile's rows; 0:
// not even those of one row of tiles fit.
std::int64_t warp_rows_at_once(std::int64_t n, int parts);

// m, n ≥ 1, k ≥ 0; tiles: bits of the tiles that have a kernel for the operands' layouts. Tiles that exceed
// shared memory are skipped, even if requested. single: bits of the tiles that would copy lines along k
// element by element.
WarpPlan plan_warp_tiles(std::int64_t m, std::int64_t n, std::int64_t k, const WarpMachine& machine,
                         unsigned tiles, const WarpOptions& options = {}, unsigned single = 0);

}  // namespace tessera::matmul
