// SPDX-License-Identifier: Apache-2.0
// Which tile a product is cut into, with split-K or not, and into how many launches: by a model of what each
// tile takes. Plain arithmetic.
#pragma once
#include <cstdint>
#include <functional>
#include <span>
#include "ops/matmul/kernels/tile_order.hpp"
#include "tessera/core/variant.hpp"

namespace tessera::matmul {

// Of C: what a block makes, and how many blocks of a cluster are below and beside each other.
struct TileSize {
  std::int32_t rows, cols, cluster_rows, cluster_cols;

  TESSERA_HOST_DEVICE std::int32_t cluster() const { return cluster_rows * cluster_cols; }
};

struct TileShape : TileSize {
  double stage_us;     // what 128 bytes of k take a block whose multiprocessors are all busy
  double tile_us;      // a tile's first copies and its results, as far as nobody multiplies beside them
  double last_us;      // what is hidden so but for a block's last tile
  double tail_us = 0;  // as stage_us, of a tail tile; 0: the kernel has none
  bool cluster_split_k = false;  // parts of a sum are made by the blocks of one cluster
  // Of tile_us, what is hidden as well where results of 16 bits wait for the next tile's products.
  double overlapped_us = 0;
  bool allows_split_k = true;  // else in parts only where that is requested
  double begin_us = 0;         // before a block's first stage and after its last results
  // Of a tile of any size, but without splits: `rows` and `cols` are the most; of its times, what the size
  // has no part in.
  bool any_size = false;
  double least_stage_us = 0, least_tile_us = 0;
};
using TileShapes = std::span<const TileShape>;

// A tile of any size has a multiple of so many rows and columns, so few together that its ring has four
// stages, in clusters of so many blocks at most, and of so many below each other or beside.
inline constexpr int any_rows = 64, any_cols = 16, most_any_lines = 352, most_cluster_blocks = 8,
                     most_cluster_side = 4;

// Of shared memory, a tile of any size has so much for its ring and for the boxes of results of each 64 rows.
inline constexpr int any_size_bytes = 225 * 1024, box_bytes = 64 * 128, out_bytes = 2 * box_bytes;
inline constexpr int most_any_stages = 12;  // as many as there are barriers
constexpr int stages_of(const TileSize& size) {
  const int left = any_size_bytes - size.rows / any_rows * out_bytes, stage = (size.rows + size.cols) * 128;
  return left / stage < most_any_stages ? left / stage : most_any_stages;
}

// The tiles that kernels were made for; the sixth is the first without a cluster, whose copies begin sooner
// but are shared by nobody. Times: fitted to 209 products with both operands along k on one NVIDIA H100 (of
// tools/shapes random 7 and 11, and listed ones; bf16 and TF32), each measured in graphs with every tile, and
// with that of any size in up to 28 sizes: that the model's choices are fast counts most, then its times.
// Only their proportions matter.
inline constexpr TileShape tile_shapes[] = {
    {128, 256, 2, 1, 0.578, 2.17, 0, 0.2, false, 1.01, true, 2.13},
    {128, 128, 1, 1, 0.516, 1.16, 0, 0.2, true, 0, true, 1.38},
    {128, 64, 1, 1, 0.162, 0.57, 0, 0, true, 0, true, 2.28},
    {64, 64, 1, 1, 0.143, 0.56, 0, 0, false, 0, true, 0.76},
    {192, 192, 2, 4, 0.626, 2.56, 0, 0, false, 0, false, 2.81, true, 0.138, 0.09},
    {128, 256, 1, 1, 0.622, 1.77, 0, 0.2, false, 1.31, true, 2.55},
    {64, 128, 1, 1, 0.178, 0.77, 0, 0, false, 0, true, 1.44}};
inline constexpr int tile_count = static_cast<int>(sizeof tile_shapes / sizeof *tile_shapes);
// Of sums that are promoted, to 70 products of e4m3.
inline constexpr TileShape promoted_shapes[] = {
    {256, 128, 1, 2, 0.765, 2.44, 0, 0.35, false, 0, true, 2.05},
    {128, 128, 1, 1, 0.365, 1.32, 0, 0.2, true, 0, true, 2.29},
    {128, 64, 1, 1, 0.253, 0.88, 0, 0, true, 0, true, 1.88},
    {64, 64, 1, 1, 0.235, 0.55, 0, 0, false, 0, true, 1.36},
    {128, 192, 2, 4, 0.532, 2.16, 0, 0, false, 0, false, 2.86, true, 0.175, 0.45}};

// The third tile is also there for an operand whose lines begin at any address; then its number is this one,
// behind those of tile_shapes.
inline constexpr int misaligned_tile_shape = 2, misaligned_tile = tile_count;
// Fitted to 122 unaligned products of tools/shapes random 7 on one NVIDIA H100.
constexpr TileShape misaligned_shape(TileShapes shapes) {
  TileShape out = shapes[misaligned_tile_shape];
  out.stage_us *= 1.15;
  out.tile_us = 0.6;
  out.begin_us = 1.8;
  return out;
}
// What a pass takes that packs operands first: a launch, and bytes read and written in a microsecond.
inline constexpr double packing_us = 2.5, packing_rate = 3.3e6;

// Results wait where a sum has as many stages, so that there is time to store them in: `boxes` of their four
// beside each stage but the first and the last.
template <int boxes>
inline constexpr std::int64_t least_overlapped_depth = 4 / boxes + 2;

// Sums of splits wait in spare memory, of this size at most.
inline constexpr std::int64_t most_split_bytes = std::int64_t{64} << 20;

struct TilePlan {
  int tile = 0;  // of the shapes
  TileOrder order;
  TailOrder tail;                   // for columns beyond the order's
  std::int64_t units = 0;           // of work, of a cluster each
  std::int32_t cluster_splits = 1;  // blocks of a cluster, each of which makes a part of a tile's sums
  std::int32_t depth = 0, split_depth = 0;  // stages, in all and of each part
  TileSize size{};                          // of a tile
  double microseconds = 0;                  // what the model tells
  std::int64_t blocks = 0;                  // as many as there are parts of tiles
};

// What the sums of a plan that has splits take of spare memory.
std::size_t partial_bytes(const TileShape& shape, const TilePlan& plan);

// Blocks of a cluster of a tile that cluster_split_k: as many as every device can place.
inline constexpr int most_cluster_splits = 8;

// What the caller would have; 0: the model's choice. More splits than spare memory holds are none; a tile
// that cluster_split_k has no more than its cluster.
struct TileOptions {
  int tile = 0;  // counted from 1
  int splits = 0, group = 0;
  int tail = 0;     // 1: none; 2: where they can be
  TileSize size{};  // of a tile of any size; of others nothing
};

// How many lines of the cache, of 128 bytes, the TMA asks for where a stage takes 128 bytes of a line
// of A, or B: two where those do not begin at multiples of 128.
struct CacheLines {
  int of_a = 1, of_b = 1;
};

// m, n ≥ 1, k ≥ 0; `stage` elements of k fill a stage. `tiles`: bits of those that may be taken; one at
// least. `results`: how much longer than 16-bit ones in boxes they take.
TilePlan plan_tiles(TileShapes shapes, std::int64_t m, std::int64_t n, std::int64_t k, int stage,
                    int processors, unsigned tiles, const TileOptions& options = {}, double results = 1,
                    CacheLines lines = {});

// A product in one launch or in several: a few rows or columns beyond whole tiles would take a round of all
// multiprocessors; by themselves they are a product of few small tiles. Plain arithmetic.

// Of C: which rows and columns, and by which plan.
struct PlannedLaunch {
  std::int64_t row = 0, col = 0, rows = 0, cols = 0;
  TilePlan plan;
};

// The first part is the large one; then, if it does not reach that far, the columns beside it and the rows
// below both.
struct PlannedLaunches {
  static constexpr int most = 3;
  PlannedLaunch launch[most];
  int count = 0;
  double microseconds = 0;  // what the model tells
};

enum class LaunchCount : int { model, one, several };

// The plan of a part of `rows` by `cols`; the large one, or one of the others.
using LaunchPlanner = std::function<TilePlan(std::int64_t rows, std::int64_t cols, bool is_large)>;

// m, n ≥ 1. Cuts are at the last multiple of so many rows and columns as the largest
// tile has, or of the smallest one's where C has fewer; never within a product that the model says is short.
PlannedLaunches plan_launches(std::int64_t m, std::int64_t n, LaunchCount count, const LaunchPlanner& plan);

// Whether a tile that the caller names is there for a product, so that no other is taken in its name.

// Why there is no such tile; nothing: there is. `tile`: counted from 1, 0: none is named. `tiles`: bits of
// those among `shapes` that have kernels for how the operands lie.
Reason refuses_tile(int tile, TileShapes shapes, unsigned tiles);

// The same of a size that is wished for, of a tile that may have any.
Reason refuses_size(const TileSize& wanted, TileShapes shapes);

}  // namespace tessera::matmul
