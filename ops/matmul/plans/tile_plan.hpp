// SPDX-License-Identifier: Apache-2.0
// The plan of a product: its tile, split-K, and the number of launches, chosen by a cost model. No CUDA
// calls; unit-tested on the host.
#pragma once
#include <cstdint>
#include <functional>
#include <span>
#include "ops/matmul/plans/tile_order.hpp"
#include "tessera/core/operation/variant.hpp"

namespace tessera::matmul {

// The tile of C that a block computes, and the cluster's shape in blocks.
struct TileShape {
  std::int32_t rows, cols, cluster_rows, cluster_cols;

  TESSERA_HOST_DEVICE std::int32_t cluster_size() const { return cluster_rows * cluster_cols; }
};

struct TileCost : TileShape {
  double k_tile_us;              // 128 bytes of k, with all multiprocessors busy
  double tile_us;                // the exposed part of a tile's prologue and epilogue
  bool cluster_split_k = false;  // split-K over the blocks of a cluster
  // The part of tile_us that the overlapped epilogue hides for all but a block's last tile (16-bit results).
  double overlapped_us = 0;
  bool allows_split_k = true;  // false: split-K only if requested
  double fixed_us = 0;         // before a block's first k tile and after its last results
  // The tile's shape is a launch parameter: `rows` and `cols` are the maxima.
  bool runtime_shape = false;
  double min_k_tile_us = 0, min_tile_us = 0;  // the parts of k_tile_us and tile_us that do not scale
};
using TileCosts = std::span<const TileCost>;

// Limits of a tile of runtime shape: granularity of rows and columns; their maximal sum, with which the
// pipeline still has four stages; blocks of a cluster, and blocks along one side of it.
inline constexpr int rows_granularity = 64, cols_granularity = 16, max_rows_plus_cols = 352,
                     max_cluster_blocks = 8, max_cluster_side = 4;

// Shared memory of a tile of runtime shape: for its pipeline, and for the staging buffers of each 64 rows.
inline constexpr int runtime_shape_bytes = 225 * 1024, staging_buffer_bytes = 64 * 128,
                     epilogue_smem_bytes = 2 * staging_buffer_bytes;
inline constexpr int max_stages = 12;  // the number of barriers
constexpr int stage_count(const TileShape& shape) {
  const int bytes = runtime_shape_bytes - shape.rows / rows_granularity * epilogue_smem_bytes,
            stage_bytes = (shape.rows + shape.cols) * 128;
  return bytes / stage_bytes < max_stages ? bytes / stage_bytes : max_stages;
}

// The tiles that have kernels; the sixth is the first without a cluster: its loads start sooner but are not
// multicast. Times: fitted, together with those of promoted_costs, to products of bf16 and e4m3 with K-major
// operands on one NVIDIA H200 (of tools/shapes random 301, 778, 780, 31337, 424243, 515151, 616161 and
// 737373 and grid 4242, 777, 779 and 55555; listed ones; further random ones), measured in graphs with
// several tiles and splits: results/nvidia-h200/matmul/matmul-plan-times.csv. (Rows "before 65a12832" have
// blocks that leave their tile's counter later; the fit subtracts 0.25 us.) The fit minimises first the
// slowdown of the chosen plan, then the time error; it keeps the times of k tiles and the bandwidths near
// those of an earlier fit, because few products depend on one of them alone. Only the proportions of the
// times matter.
inline constexpr TileCost tile_costs[] = {
    {128, 256, 2, 1, 0.616, 1.9, false, 1.1, true, 2.04},
    {128, 128, 1, 1, 0.338, 1.1, true, 0, true, 2},
    {128, 64, 1, 1, 0.255, 0.729, true, 0, true, 1.49},
    {64, 64, 1, 1, 0.0991, 0.601, false, 0, true, 1.53},
    {192, 192, 2, 4, 0.674, 2.38, false, 0, true, 2.83, true, 0.0879, 0.0941},
    {128, 256, 1, 1, 0.638, 1.87, false, 1.35, true, 1.91},
    {64, 128, 1, 1, 0.223, 0.764, false, 0, true, 1.47}};
inline constexpr int tile_count = static_cast<int>(sizeof tile_costs / sizeof *tile_costs);
// The tiles with promotion.
inline constexpr TileCost promoted_costs[] = {
    {256, 128, 1, 2, 0.674, 1.8, false, 0, true, 2.28},
    {128, 128, 1, 1, 0.378, 1.02, true, 0, true, 1.97},
    {128, 64, 1, 1, 0.241, 0.69, true, 0, true, 2.56},
    {64, 64, 1, 1, 0.201, 0.569, false, 0, true, 1.07},
    {128, 192, 2, 4, 0.489, 1.79, false, 0, true, 2.65, true, 0.142, 0.303}};

// The third tile (index 2) also has a kernel for operands with misaligned rows. It counts as a tile of its
// own, with the index after the last of tile_costs.
inline constexpr int misaligned_base_tile = 2, misaligned_tile = tile_count;
// Returns its cost, fitted to 122 unaligned products of tools/shapes random 7 on one NVIDIA H100, before rows
// counted by their alignment; tile_us to two products with short sums on one NVIDIA H200.
constexpr TileCost misaligned_cost(TileCosts costs) {
  TileCost out = costs[misaligned_base_tile];
  out.k_tile_us = costs.data() == promoted_costs ? 0.291 : 0.186;
  out.tile_us = 1.4;
  out.fixed_us = 1.8;
  return out;
}
// A tile of runtime shape that adds the parts of a split sum one after the other, with the additions that
// split-K makes. It has the index after misaligned_tile, and columns in multiples of segmented_cols, so that
// few kernels are compiled.
inline constexpr int segmented_tile = misaligned_tile + 1, segmented_rows = 128, segmented_cols = 64;
constexpr int max_segmented_cols(bool promoted) { return promoted ? 128 : 192; }
// The time of a packing pass: a launch, and the bytes read and written in a microsecond.
inline constexpr double packing_us = 2.5, packing_rate = 3.3e6;

// The minimum number of k tiles that gives the overlapped epilogue time for its four stores: `stores` during
// each k tile except the first and the last.
template <int stores>
inline constexpr std::int64_t min_overlapped_k_tiles = 4 / stores + 2;

// The maximum number of parts of a sum, and the maximum size of the workspace for their partial sums.
inline constexpr int max_workspace_splits = 64;
inline constexpr std::int64_t max_split_bytes = std::int64_t{64} << 20;

struct TilePlan {
  int tile = 0;  // index in the table
  TileOrder order;
  std::int32_t cluster_splits = 1;                       // split-K over a cluster: its blocks
  std::int32_t k_tile_count = 0, k_tiles_per_split = 0;  // in all; per split
  TileShape shape{};
  double microseconds = 0;  // by the model
  std::int64_t blocks = 0;  // in the grid
};

// Returns the size of the partial sums in the workspace.
std::size_t partial_bytes(const TilePlan& plan);

// The maximum of blocks in a split-K cluster, which every device supports.
inline constexpr int max_cluster_splits = 8;

// The caller's choice; 0: the model's. Splits that do not fit the workspace are ignored; they are at most
// max_workspace_splits, with cluster_split_k max_cluster_splits.
struct TileOptions {
  int tile = 0;  // counted from 1
  int splits = 0, group = 0;
  TileShape shape{};          // for tiles of runtime shape
  bool exact_splits = false;  // only plans with `splits` parts; if there are none, the time is infinite
};

// The alignment in bytes of the rows of A and the columns of B: 128, 64, 32 or 16.
struct Alignment {
  int a = 128, b = 128;
};

// Returns the time of a k tile with all multiprocessors busy.
double busy_k_tile_us(const TileCost& cost, int multiprocessors);

// m, n ≥ 1, k ≥ 0; `block_k`: elements of k in a k tile. `tiles`: bits of the allowed tiles, at least one.
// `store_cost`: the time of storing C relative to 16-bit elements in TMA boxes.
TilePlan plan_tiles(TileCosts costs, std::int64_t m, std::int64_t n, std::int64_t k, int block_k,
                    int multiprocessors, unsigned tiles, const TileOptions& options = {},
                    double store_cost = 1, Alignment alignment = {});

// Returns the number of equal parts of k for products with this n and k and any number of rows: the smallest
// with which a product of few rows takes about as long as with the best number.
int splits_of_any_rows(TileCosts costs, std::int64_t n, std::int64_t k, int block_k, int multiprocessors);

// Returns the best plan whose sums have exactly `splits` parts, which are added in their order: by split-K,
// or by a segmented tile. All such plans give the same bits.
TilePlan plan_exact_splits(TileCosts costs, std::int64_t m, std::int64_t n, std::int64_t k, int block_k,
                           int multiprocessors, unsigned tiles, int splits, double store_cost = 1,
                           Alignment alignment = {});

// A part of C and its plan.
struct PlannedLaunch {
  std::int64_t row = 0, col = 0, rows = 0, cols = 0;
  TilePlan plan;
};

// The first launch computes the large part; the others, if it does not cover C, the columns right of it and
// the rows below both.
struct PlannedLaunches {
  static constexpr int max_launches = 3;
  PlannedLaunch launch[max_launches];
  int count = 0;
  double microseconds = 0;  // by the model
};

enum class LaunchMode : int { model, one, several };

// Returns the plan of a part of C, `rows` by `cols`. is_large: the first part.
using LaunchPlanner = std::function<TilePlan(std::int64_t rows, std::int64_t cols, bool is_large)>;

// Plans a product in one launch or in several: a few rows or columns beyond full tiles would cost an entire
// wave; in separate launches they need few small tiles. m, n ≥ 1. C is split at the last multiple of the
// largest tile's rows and columns, or of the smallest one's if C has fewer; never if the model estimates less
// than min_us for the product.
PlannedLaunches plan_launches(std::int64_t m, std::int64_t n, LaunchMode mode, const LaunchPlanner& plan);

// Returns the reason why a requested tile cannot be used; nullopt: it can. `tile`: counted from 1, 0: none is
// requested. `tiles`: bits of those among `costs` that have kernels for the operands' layouts.
Reason refuses_tile(int tile, TileCosts costs, unsigned tiles);

// Returns the reason why a shape requested for the tile of runtime shape cannot be used.
Reason refuses_shape(const TileShape& wanted, TileCosts costs);

}  // namespace tessera::matmul
