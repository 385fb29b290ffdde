// SPDX-License-Identifier: Apache-2.0
#include "ops/matmul/plans/tile_plan.hpp"
#include <algorithm>
#include <limits>
#include "tessera/core/array/rounding.hpp"

namespace tessera::matmul {

namespace {

// The times and rates down to runtime_shape_memory, partial_columns_us, and those in tile_costs and
// promoted_costs, come from one fit (tile_plan.hpp).
// Split-K through the workspace:
constexpr double split_k_sync_us = 2.36;  // the splits wait for each other
constexpr double per_split_us = 0.0331;   // each split
constexpr double split_k_us = 3.41;       // a block's traffic, for 128 × 128 elements
// Split-K over a cluster:
constexpr double cluster_sync_us = 1.32;     // its blocks wait for each other
constexpr double cluster_us = 0.609;         // each of them, for 128 × 128 elements
constexpr double cluster_launch_us = 0.741;  // the blocks of a cluster start and end together
// L2 to shared memory of all multiprocessors, bytes/us:
constexpr double l2_to_smem_rate = 12.4e6;
constexpr double split_rate = 11.5e6;     // with split-K: its blocks read different k at once
constexpr double l2_rate_of_one = 187e3;  // to one multiprocessor
// The fraction by which an operand's memory time grows if several clusters read it.
constexpr double repeated_reads = 0.181;
// The fraction by which the operands' memory time grows per share of the waves' clusters that have no tile.
constexpr double idle_reads = 0.392;
// The work of the L2 for 128 bytes of a row that is aligned to 64, 32 or 16 bytes; 1: aligned to 128 bytes.
constexpr double l2_work_aligned_64 = 1.21, l2_work_aligned_32 = 1.43, l2_work_aligned_16 = 2.33;
// Global memory bandwidth, bytes/us:
constexpr double read_rate = 3.8e6;
constexpr double write_rate = 7.6e6;
constexpr double exposed_fraction = 0.558;     // least share of the sum of memory time and overlapping time
constexpr double runtime_shape_memory = 1.04;  // factor on memory time for tiles of runtime shape
constexpr std::int64_t min_k_tiles_per_split = 4, min_k_tiles_per_cluster_split = 2;
constexpr std::int32_t usual_raster_rows = 8;

// Returns the bytes of A and B that memory transfers, with repeated_reads.
double operand_bytes(const TileCost& cost, std::int64_t m, std::int64_t n, std::int64_t k_tiles) {
  const bool repeats_a = n > std::int64_t{cost.cols} * cost.cluster_cols,
             repeats_b = m > std::int64_t{cost.rows} * cost.cluster_rows;
  return 128.0 * static_cast<double>(k_tiles) *
         (static_cast<double>(m) * (repeats_a ? 1 + repeated_reads : 1) +
          static_cast<double>(n) * (repeats_b ? 1 + repeated_reads : 1));
}

// Returns the time of a k tile with this number of resident blocks, which share the bandwidth of the L2. A
// block loads its part of what its cluster needs, and no more than an operand that is smaller than the tile.
// Rows count by their alignment.
double k_tile_us(const TileCost& cost, std::int64_t m, std::int64_t n, std::int64_t blocks,
                 int multiprocessors, Alignment alignment, bool splits = false) {
  const auto weighted_rows = [](int extent, std::int64_t size, int sharers, int aligned) {
    return static_cast<double>(std::min<std::int64_t>(extent, size)) / sharers *
           (aligned == 128  ? 1
            : aligned == 64 ? l2_work_aligned_64
            : aligned == 32 ? l2_work_aligned_32
                            : l2_work_aligned_16);
  };
  const double weighted_bytes = 128 * (weighted_rows(cost.rows, m, cost.cluster_cols, alignment.a) +
                                       weighted_rows(cost.cols, n, cost.cluster_rows, alignment.b));
  const auto resident = static_cast<double>(std::min<std::int64_t>(blocks, multiprocessors));
  return std::max({cost.k_tile_us, weighted_bytes * resident / (splits ? split_rate : l2_to_smem_rate),
                   weighted_bytes / l2_rate_of_one});
}

// Global memory traffic overlaps with k tiles and epilogues; if both take about as long, neither is hidden
// completely.
double with_memory(const TileCost& cost, double us, std::int64_t m, std::int64_t n, double bytes,
                   double store_cost) {
  const double memory = bytes / read_rate +
                        2 * store_cost * static_cast<double>(m) * static_cast<double>(n) / write_rate,
               memory_us = cost.runtime_shape ? runtime_shape_memory * memory : memory;
  return std::max({us, memory_us, exposed_fraction * (us + memory_us)});
}

// Returns the number of resident clusters. A cluster lies in one GPC (up to 16 or 18 SMs): the table holds
// the resident blocks on one NVIDIA H200, by the cluster's blocks.
std::int64_t max_active_clusters(int multiprocessors, int blocks) {
  constexpr std::int64_t resident[] = {132, 132, 117, 120, 110, 102, 105, 120}, all = resident[0];
  return std::max<std::int64_t>(1, multiprocessors * resident[blocks - 1] / all / blocks);
}

TilePlan plan_shape(const TileCost& cost, std::int64_t m, std::int64_t n, std::int64_t k_tiles,
                    std::int64_t splits, int multiprocessors, double store_cost, Alignment alignment) {
  TilePlan out;
  out.shape = cost;
  out.k_tile_count = static_cast<std::int32_t>(k_tiles);
  out.k_tiles_per_split = static_cast<std::int32_t>(std::max<std::int64_t>(ceil_div(k_tiles, splits), 1));
  out.order.rows = static_cast<std::int32_t>(ceil_div(m, std::int64_t{cost.rows} * cost.cluster_rows));
  out.order.cols = static_cast<std::int32_t>(ceil_div(n, std::int64_t{cost.cols} * cost.cluster_cols));
  const auto actual_splits =
      static_cast<std::int32_t>(std::max<std::int64_t>(ceil_div(k_tiles, out.k_tiles_per_split), 1));
  out.cluster_splits = cost.cluster_split_k ? actual_splits : 1;
  out.order.splits = cost.cluster_split_k ? 1 : actual_splits;
  out.order.raster_rows = std::max(1, usual_raster_rows / cost.cluster_rows * 2);
  const int multicast_blocks = cost.cluster_size(), cluster_size = multicast_blocks * out.cluster_splits;
  const std::int64_t units = out.order.count(), clusters = max_active_clusters(multiprocessors, cluster_size),
                     waves = ceil_div(units, clusters);
  out.blocks = units * cluster_size;
  const double tile_scale = cost.rows * cost.cols / 16384.0,
               idle = 1 - static_cast<double>(units) / static_cast<double>(waves * clusters),
               bytes = operand_bytes(cost, m, n, k_tiles) * (1 + idle_reads * idle);
  const double us =
      static_cast<double>(waves) * (out.k_tiles_per_split * k_tile_us(cost, m, n, out.blocks, multiprocessors,
                                                                      alignment, actual_splits > 1) +
                                    cost.tile_us) +
      cost.fixed_us + (multicast_blocks > 1 ? cluster_launch_us : 0);
  out.microseconds = with_memory(cost, us, m, n, bytes, store_cost);
  // Blocks add the parts after the last k tile, when they load no operands.
  if (out.order.splits > 1)
    out.microseconds += split_k_sync_us + per_split_us * out.order.splits + split_k_us * tile_scale;
  if (out.cluster_splits > 1)
    out.microseconds += cluster_sync_us + cluster_us * out.cluster_splits * tile_scale;
  return out;
}

// Calls act(shape) for the shapes of a tile that match the nonzero members of `wanted`. Multicast slices are
// multiples of eight rows.
template <class Act>
void for_each_shape(const TileCost& cost, const TileShape& wanted, const Act& act) {
  if (!cost.runtime_shape) return act(cost);
  const auto is_wanted = [](int value, int one) { return one == 0 || value == one; };
  for (int rows = rows_granularity; rows <= cost.rows; rows += rows_granularity)
    for (int cols = cols_granularity; cols <= cost.cols; cols += cols_granularity) {
      if (rows + cols > max_rows_plus_cols || !is_wanted(rows, wanted.rows) || !is_wanted(cols, wanted.cols))
        continue;
      for (int cluster_rows = 1; cluster_rows <= max_cluster_side; cluster_rows *= 2)
        for (int cluster_cols = 1;
             cluster_cols <= max_cluster_side && cluster_rows * cluster_cols <= max_cluster_blocks;
             cluster_cols *= 2)
          if (cols % (8 * cluster_rows) == 0 && rows % (8 * cluster_cols) == 0 &&
              is_wanted(cluster_rows, wanted.cluster_rows) && is_wanted(cluster_cols, wanted.cluster_cols))
            act(TileShape{rows, cols, cluster_rows, cluster_cols});
    }
}

// The epilogue stores 128 bytes of each row at a time, 64 columns of 16 bits. Tiles with another number of
// columns take longer.
constexpr int stored_cols = 64;
constexpr double partial_columns_us = 0.315;

TileCost cost_of_shape(const TileCost& cost, const TileShape& shape) {
  TileCost out = cost;
  if (!cost.runtime_shape) return out;
  static_cast<TileShape&>(out) = shape;
  const double area = static_cast<double>(shape.rows * shape.cols) / (cost.rows * cost.cols);
  out.k_tile_us = cost.min_k_tile_us + (cost.k_tile_us - cost.min_k_tile_us) * area;
  out.tile_us = cost.min_tile_us + (cost.tile_us - cost.min_tile_us) * area;
  if (shape.cols % stored_cols != 0) out.tile_us += partial_columns_us;
  return out;
}

// True if a cluster's extent exceeds C's by more than a quarter of the cluster's.
bool reaches_far_beyond(std::int64_t cluster_extent, std::int64_t c_extent) {
  return cluster_extent - c_extent > cluster_extent / 4;
}

// Returns the number of clusters that compute C.
std::int64_t cluster_count(const TileCost& cost, std::int64_t m, std::int64_t n) {
  return ceil_div(m, std::int64_t{cost.rows} * cost.cluster_rows) *
         ceil_div(n, std::int64_t{cost.cols} * cost.cluster_cols);
}

// Returns a lower bound of the time of plans with these tiles and without split-K.
double min_time_us(const TileCost& cost, std::int64_t m, std::int64_t n, std::int64_t k_tiles,
                   int multiprocessors, Alignment alignment) {
  const std::int64_t clusters = cluster_count(cost, m, n),
                     waves = ceil_div(clusters, max_active_clusters(multiprocessors, cost.cluster_size()));
  const double k_tile = k_tile_us(cost, m, n, clusters * cost.cluster_size(), multiprocessors, alignment);
  return static_cast<double>(waves) *
         (static_cast<double>(k_tiles) * k_tile + cost.tile_us - cost.overlapped_us);
}

// True if all splits of all tiles are resident at the same time. Split-K in several waves takes longer than
// the model estimates. `splits`: as requested; if they do not divide the k tiles well, there are fewer.
bool splits_in_one_wave(const TileCost& cost, std::int64_t m, std::int64_t n, std::int64_t splits,
                        int multiprocessors) {
  const std::int64_t clusters = cluster_count(cost, m, n);
  if (cost.cluster_split_k)
    return clusters <= max_active_clusters(multiprocessors, cost.cluster_size() * static_cast<int>(splits));
  return clusters * splits <= max_active_clusters(multiprocessors, cost.cluster_size());
}

bool fits_workspace(const TilePlan& plan) {
  if (plan.order.splits == 1) return true;
  return partial_bytes(plan) <= std::size_t{max_split_bytes} && plan.blocks <= max_split_tiles;
}

}  // namespace

double busy_k_tile_us(const TileCost& cost, int multiprocessors) {
  return k_tile_us(cost, cost.rows, cost.cols, multiprocessors, multiprocessors, {});
}

std::size_t partial_bytes(const TilePlan& plan) {
  return static_cast<std::size_t>(plan.blocks * plan.shape.rows * plan.shape.cols) * 4;
}

TilePlan plan_tiles(TileCosts costs, std::int64_t m, std::int64_t n, std::int64_t k, int block_k,
                    int multiprocessors, unsigned tiles, const TileOptions& options, double store_cost,
                    Alignment alignment) {
  const std::int64_t k_tiles = ceil_div(k, block_k);
  TilePlan best;
  bool found = false;
  for (int tile = 0; tile < static_cast<int>(costs.size()); ++tile) {
    if ((tiles >> tile & 1) == 0 || (options.tile != 0 && options.tile != tile + 1)) continue;
    const TileCost& max_shape = costs[static_cast<std::size_t>(tile)];
    for_each_shape(max_shape, options.shape, [&](const TileShape& shape) {
      TileCost cost = cost_of_shape(max_shape, shape);
      cost.tile_us *= store_cost;
      // Clusters of more than two blocks pay off only if rows of A or B are not aligned to 128 bytes, which
      // is more work for the L2: each block of a larger cluster loads less.
      if (cost.runtime_shape && shape.cluster_size() > 2 && alignment.a == 128 && alignment.b == 128 &&
          options.shape.cluster_rows == 0 && options.shape.cluster_cols == 0)
        return;
      // A tile with 64 rows or columns fewer also covers C, in no more time.
      if (cost.runtime_shape && ((options.shape.rows == 0 && shape.rows >= m + rows_granularity) ||
                                 (options.shape.cols == 0 && shape.cols >= n + stored_cols)))
        return;
      // Multicast of rows and columns beyond C takes longer than the model estimates.
      if (cost.runtime_shape && shape.cluster_size() > 1 && options.shape.cluster_rows == 0 &&
          options.shape.cluster_cols == 0 &&
          (reaches_far_beyond(shape.rows * shape.cluster_rows, m) ||
           reaches_far_beyond(shape.cols * shape.cluster_cols, n)))
        return;
      if (options.exact_splits && cost.cluster_split_k && options.splits > max_cluster_splits) return;
      const bool allows_split_k = cost.allows_split_k || options.splits != 0;
      const std::int64_t max_splits_of_shape = cost.cluster_split_k ? max_cluster_splits
                                               : allows_split_k     ? max_workspace_splits
                                                                    : 1,
                         requested = std::min<std::int64_t>(options.splits, max_splits_of_shape),
                         min_k_tiles =
                             cost.cluster_split_k ? min_k_tiles_per_cluster_split : min_k_tiles_per_split,
                         last = requested != 0
                                    ? requested
                                    : std::clamp<std::int64_t>(k_tiles / min_k_tiles, 1, max_splits_of_shape);
      // The smallest number of splits suffices among those with equally long splits.
      const auto next = [k_tiles](std::int64_t splits) {
        const std::int64_t longest = ceil_div(k_tiles, splits);
        return longest <= 1 ? splits + 1 : ceil_div(k_tiles, longest - 1);
      };
      for (std::int64_t splits = std::max<std::int64_t>(requested, 1); splits <= last;
           splits = next(splits)) {
        if (cost.runtime_shape && splits == 1 && found &&
            min_time_us(cost, m, n, k_tiles, multiprocessors, alignment) >= best.microseconds)
          continue;
        TileCost overlapped = cost;
        if (store_cost == 1 && splits == 1 && k_tiles >= min_overlapped_k_tiles<2>) {
          overlapped.tile_us -= cost.overlapped_us;
          overlapped.fixed_us += cost.overlapped_us;  // the last tile hides nothing
        }
        // A plan with requested splits is kept, however slow, unless they must be exact.
        const bool can_skip = options.splits == 0 || options.exact_splits;
        if (can_skip && splits > 1 && !splits_in_one_wave(cost, m, n, splits, multiprocessors)) {
          if (cost.cluster_split_k) continue;  // clusters of another size may fit
          break;
        }
        TilePlan plan = plan_shape(overlapped, m, n, k_tiles, splits, multiprocessors, store_cost, alignment);
        if (!fits_workspace(plan)) {
          if (can_skip) continue;
          plan = plan_shape(cost, m, n, k_tiles, 1, multiprocessors, store_cost, alignment);
        }
        if (found && plan.microseconds >= best.microseconds) continue;
        best = plan;
        best.tile = tile;
        found = true;
      }
    });
  }
  if (!found && options.exact_splits) {
    best.microseconds = std::numeric_limits<double>::infinity();
    return best;
  }
  // A requested tile or size that these operands do not allow is ignored.
  if (!found)
    return plan_tiles(costs, m, n, k, block_k, multiprocessors, tiles,
                      {.tile = 0, .splits = options.splits, .group = options.group, .shape = {}}, store_cost,
                      alignment);
  if (options.group != 0) best.order.raster_rows = options.group;
  best.order.raster_rows =
      std::min(best.order.raster_rows, best.order.rows);  // TileScheduler's bands have fewer than 2^31 tiles
  return best;
}

int splits_of_any_rows(TileCosts costs, std::int64_t n, std::int64_t k, int block_k, int multiprocessors) {
  constexpr std::int64_t few_rows = 16;
  constexpr double tolerance = 1.18;
  double us[max_cluster_splits + 1], least = std::numeric_limits<double>::infinity();
  for (int splits = 1; splits <= max_cluster_splits; ++splits) {
    us[splits] = plan_tiles(costs, few_rows, n, k, block_k, multiprocessors, ~0u,
                            {.splits = splits, .exact_splits = true})
                     .microseconds;
    least = std::min(least, us[splits]);
  }
  int splits = 1;
  while (!(us[splits] <= tolerance * least)) ++splits;
  return splits;
}

TilePlan plan_exact_splits(TileCosts costs, std::int64_t m, std::int64_t n, std::int64_t k, int block_k,
                           int multiprocessors, unsigned tiles, int splits, double store_cost,
                           Alignment alignment) {
  TilePlan best = plan_tiles(costs, m, n, k, block_k, multiprocessors, tiles,
                             {.splits = splits, .exact_splits = true}, store_cost, alignment);
  if (splits == 1) return best;
  const TileCost& largest = *std::ranges::find(costs, true, &TileCost::runtime_shape);
  const bool promoted = costs.data() == promoted_costs;
  const TileCost cost = cost_of_shape(
      largest, {segmented_rows, max_segmented_cols(promoted), largest.cluster_rows, largest.cluster_cols});
  for (int cols = segmented_cols; cols <= cost.cols; cols += segmented_cols) {
    TilePlan plan = plan_tiles({&cost, 1}, m, n, k, block_k, multiprocessors, 1,
                               {.splits = 1, .shape = {0, cols, 0, 0}}, store_cost, alignment);
    if (plan.microseconds >= best.microseconds) continue;
    best = plan;
    best.tile = segmented_tile;
    best.k_tiles_per_split = static_cast<std::int32_t>(ceil_div(plan.k_tile_count, std::int64_t{splits}));
  }
  return best;
}

namespace {

// The cost of a further launch beyond its own plan; and the least time of a product for which splitting is
// considered, since planning a part takes the host some microseconds.
constexpr double launch_us = 0.3, min_us = 40;
constexpr std::int64_t large = 256,
                       small =
                           64;  // rows, and columns, of the largest tile of a cluster, and of the smallest

// `extent` rounded down to a multiple of large, or of small if extent < large.
std::int64_t rounded_down(std::int64_t extent) {
  return extent >= large ? extent / large * large : extent / small * small;
}

class Planner {
 public:
  Planner(std::int64_t m, std::int64_t n, const LaunchPlanner& plan) : m_(m), n_(n), plan_(plan) {}

  // The large part has `rows` rows and `cols` columns.
  PlannedLaunches split_at(std::int64_t rows, std::int64_t cols) const {
    PlannedLaunches out;
    add(out, 0, 0, rows, cols);
    if (cols < n_) add(out, 0, cols, rows, n_ - cols);
    if (rows < m_) add(out, rows, 0, m_ - rows, n_);
    out.microseconds += launch_us * (out.count - 1);
    return out;
  }

 private:
  void add(PlannedLaunches& out, std::int64_t row, std::int64_t col, std::int64_t rows,
           std::int64_t cols) const {
    PlannedLaunch& sub_problem = out.launch[out.count];
    sub_problem = {row, col, rows, cols, plan_(rows, cols, out.count == 0)};
    out.microseconds += sub_problem.plan.microseconds;
    ++out.count;
  }

  std::int64_t m_, n_;
  const LaunchPlanner& plan_;
};

}  // namespace

PlannedLaunches plan_launches(std::int64_t m, std::int64_t n, LaunchMode mode, const LaunchPlanner& plan) {
  const Planner planner(m, n, plan);
  const std::int64_t rows = rounded_down(m), cols = rounded_down(n);
  const bool splits_rows = rows > 0 && rows < m;
  const bool splits_cols = cols > 0 && cols < n;
  if (mode == LaunchMode::several && (splits_rows || splits_cols))
    return planner.split_at(splits_rows ? rows : m, splits_cols ? cols : n);
  PlannedLaunches best = planner.split_at(m, n);
  if (mode != LaunchMode::model || best.microseconds < min_us) return best;
  const auto attempt = [&](std::int64_t large_rows, std::int64_t large_cols) {
    const PlannedLaunches candidate = planner.split_at(large_rows, large_cols);
    if (candidate.microseconds < best.microseconds) best = candidate;
  };
  if (splits_rows) attempt(rows, n);
  if (splits_cols) attempt(m, cols);
  if (splits_rows && splits_cols) attempt(rows, cols);
  return best;
}

Reason refuses_shape(const TileShape& wanted, TileCosts costs) {
  bool is_available = false;
  for (const TileCost& cost : costs)
    for_each_shape(cost, wanted, [&](const TileShape&) { is_available |= cost.runtime_shape; });
  if (is_available || (wanted.rows | wanted.cols | wanted.cluster_rows | wanted.cluster_cols) == 0)
    return std::nullopt;
  const TileCost& max_shape = *std::ranges::find(costs, true, &TileCost::runtime_shape);
  return "has no tile of so many rows and cols, below and beside: rows are a multiple of " +
         std::to_string(rows_granularity) + " up to " + std::to_string(max_shape.rows) + ", cols of " +
         std::to_string(cols_granularity) + " up to " + std::to_string(max_shape.cols) + ", at most " +
         std::to_string(max_rows_plus_cols) + " together; below and beside are 1, 2 or 4, at most " +
         std::to_string(max_cluster_blocks) + " together, and share out cols and rows in eights";
}

Reason refuses_tile(int tile, TileCosts costs, unsigned tiles) {
  const int count = static_cast<int>(costs.size());
  const auto is_available = [&](int one) { return one <= count && (tiles >> (one - 1) & 1) != 0; };
  if (tile == 0 || is_available(tile)) return std::nullopt;
  std::string available;
  for (int one = 1; one <= count; ++one)
    if (is_available(one)) available += (available.empty() ? "" : ", ") + std::to_string(one);
  const std::string why = tile > count ? "sums that are promoted" : "MN-major operands";
  return "has no tile=" + std::to_string(tile) + " for " + why + "; it has tile=" + available;
}

}  // namespace tessera::matmul
