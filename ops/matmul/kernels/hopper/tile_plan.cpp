// SPDX-License-Identifier: Apache-2.0
#include "ops/matmul/kernels/hopper/tile_plan.hpp"
#include <algorithm>
#include "tessera/core/rounding.hpp"

namespace tessera::matmul {

namespace {

// Split-K through the workspace:
constexpr double split_k_sync_us = 1.08;  // the splits wait for each other
constexpr double part_us = 0.03;          // each split
constexpr double split_k_us = 1.47;       // each split's traffic, for 128 × 128 sums
// Split-K over a cluster:
constexpr double cluster_sync_us = 2.62;  // its blocks wait for each other
constexpr double cluster_us = 0.25;       // each of them, for 128 × 128 sums
constexpr double pair_us = 0.76;          // the blocks of a cluster begin and end together
// L2 to shared memory of all multiprocessors, bytes/us:
constexpr double l2_to_smem_rate = 10.24e6;
constexpr double multicast_rate = 13.7e6;
constexpr double l2_far_rate = 8.27e6;  // if the operands do not fit into both L2 partitions
constexpr double bytes_fitting_both_l2_partitions = 50e6;
// Cache lines requested by all multiprocessors, and by one, if some are requested twice, bytes/us:
constexpr double request_rate = 13.6e6;
constexpr double request_rate_of_one = 395e3;
// Global memory bandwidth, bytes/us; fitted, as the rates above, to 202 products of bf16 and 132 of few rows
// (bf16, e4m3, i8) on one NVIDIA H200:
constexpr double read_rate = 4.15e6;
constexpr double write_rate = 6.6e6;
constexpr double exposed_fraction = 0.6;       // of the sum of memory time and all other time
constexpr double runtime_shape_memory = 1.13;  // factor on memory time for tiles of runtime shape
constexpr std::int64_t least_stages = 4, least_cluster_stages = 2;
constexpr std::int32_t usual_group = 8;
constexpr std::int64_t most_splits = 16;

// Makespan of `units` of work that clusters take in turn; the first `tiles` of them take `tile_us`, the
// others are tail tiles.
double makespan(std::int64_t tiles, double tile_us, std::int64_t units, double unit_us,
                std::int64_t clusters) {
  double out = 0;
  // The maximum is reached at the first cluster of each run of clusters with equal work: indices 0, tiles %
  // clusters, units % clusters.
  for (const std::int64_t i : {std::int64_t{0}, tiles % clusters, units % clusters}) {
    if (i >= units) continue;
    const std::int64_t all = (units - i - 1) / clusters + 1,
                       whole = i < tiles ? (tiles - i - 1) / clusters + 1 : 0;
    out = std::max(out, static_cast<double>(whole) * tile_us + static_cast<double>(all - whole) * unit_us);
  }
  return out;
}

// Bytes of both operands.
double operand_bytes(std::int64_t m, std::int64_t n, std::int64_t stages) {
  return 128.0 * static_cast<double>(m + n) * static_cast<double>(stages);
}

// The time of a stage if so many blocks are resident: they share the bandwidth of the L2. Of an operand
// smaller than the tile, no more than it has is loaded.
double stage_us(const TileShape& shape, std::int64_t m, std::int64_t n, std::int64_t blocks, int processors,
                double bytes, CacheLines lines) {
  const double each = 128.0 * static_cast<double>(std::min<std::int64_t>(blocks, processors)),
               rate = shape.cluster() > 1                        ? multicast_rate
                      : bytes > bytes_fitting_both_l2_partitions ? l2_far_rate
                                                                 : l2_to_smem_rate;
  const auto loaded =
      static_cast<double>(std::min<std::int64_t>(shape.rows, m) + std::min<std::int64_t>(shape.cols, n));
  const double us = std::max(shape.stage_us, each * loaded / rate);
  if (lines.of_a == 1 && lines.of_b == 1) return us;
  const double requested_lines = static_cast<double>(shape.rows) / shape.cluster_cols * lines.of_a +
                                 static_cast<double>(shape.cols) / shape.cluster_rows * lines.of_b;
  return std::max({us, each * requested_lines / request_rate, 128 * requested_lines / request_rate_of_one});
}

// Global memory traffic overlaps with everything else; if both take about as long, neither is hidden
// completely. Split-K partial sums are written and read.
double with_memory(const TileShape& shape, double us, std::int64_t m, std::int64_t n, double bytes,
                   double results, std::int64_t parts) {
  const double each = parts > 1 ? 2 * results + 8.0 * static_cast<double>(parts) : 2 * results,
               memory =
                   bytes / read_rate + each * static_cast<double>(m) * static_cast<double>(n) / write_rate,
               all = shape.any_size ? runtime_shape_memory * memory : memory;
  return std::max({us, all, exposed_fraction * (us + all)});
}

// Resident clusters: a cluster lies in one GPC (up to 16 or 18 SMs).
std::int64_t max_active_clusters(int processors, int blocks) {
  const double fraction = blocks > 4 ? 0.86 : blocks > 2 ? 0.92 : 1;
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(processors * fraction) / blocks);
}

double cluster_begin_us(int blocks) { return blocks > 1 ? pair_us : 0; }

// The same plan with tail tiles for the columns beyond the last whole tile; unchanged where there are none,
// or too many.
TilePlan with_tail_tiles(const TilePlan& whole, const TileShape& shape, std::int64_t m, std::int64_t n,
                         std::int64_t clusters, double bytes, double results, CacheLines lines) {
  constexpr std::int64_t most_tail_cols = 2;
  const std::int64_t wide = std::int64_t{shape.cols} * shape.cluster_cols,
                     tail_cols = ceil_div(n % wide, TailOrder::width);
  if (shape.tail_us == 0 || n < wide || tail_cols == 0 || tail_cols > most_tail_cols ||
      whole.order.splits > 1 || whole.cluster_splits > 1)
    return whole;
  const int cluster = shape.cluster();
  const double tile_us = whole.depth * stage_us(shape, m, n, whole.blocks,
                                                static_cast<int>(clusters) * cluster, bytes, lines) +
                         shape.tile_us,
               piece_us = whole.depth * shape.tail_us + shape.tile_us;
  TilePlan best = whole;
  for (std::int32_t tall = 1; tall <= 8; ++tall) {
    TilePlan out = whole;
    out.order.cols = static_cast<std::int32_t>(n / wide);
    out.tail = {static_cast<std::int32_t>(ceil_div(m, shape.rows)), static_cast<std::int32_t>(tail_cols),
                tall};
    out.units = out.order.count() + out.tail.units(cluster);
    out.blocks = out.units * cluster;
    const double us = shape.begin_us + cluster_begin_us(cluster) + shape.last_us +
                      makespan(out.order.count(), tile_us, out.units, tall * piece_us, clusters);
    out.microseconds = with_memory(shape, us, m, n, bytes, results, 1);
    if (best.tail.cols == 0 || out.microseconds < best.microseconds) best = out;
  }
  return best;
}

TilePlan planned(const TileShape& shape, std::int64_t m, std::int64_t n, std::int64_t stages,
                 std::int64_t splits, int processors, double results, CacheLines lines) {
  TilePlan out;
  out.depth = static_cast<std::int32_t>(stages);
  out.split_depth = static_cast<std::int32_t>(std::max<std::int64_t>(ceil_div(stages, splits), 1));
  out.order.rows = static_cast<std::int32_t>(ceil_div(m, std::int64_t{shape.rows} * shape.cluster_rows));
  out.order.cols = static_cast<std::int32_t>(ceil_div(n, std::int64_t{shape.cols} * shape.cluster_cols));
  const auto sums = static_cast<std::int32_t>(std::max<std::int64_t>(ceil_div(stages, out.split_depth), 1));
  out.cluster_splits = shape.cluster_split_k ? sums : 1;
  out.order.splits = shape.cluster_split_k ? 1 : sums;
  out.order.group = std::max(1, usual_group / shape.cluster_rows * 2);
  const int shared = shape.cluster(), cluster = shared * out.cluster_splits;
  out.units = out.order.count();
  out.blocks = out.units * cluster;
  const std::int64_t rounds = ceil_div(out.units, max_active_clusters(processors, cluster));
  const double size = shape.rows * shape.cols / 16384.0, bytes = operand_bytes(m, n, stages);
  double us =
      static_cast<double>(rounds) *
          (out.split_depth * stage_us(shape, m, n, out.blocks, processors, bytes, lines) + shape.tile_us) +
      shape.last_us + shape.begin_us + cluster_begin_us(shared);
  if (out.order.splits > 1) us += split_k_sync_us + (part_us + split_k_us * size) * out.order.splits;
  if (out.cluster_splits > 1) us += cluster_sync_us + cluster_us * out.cluster_splits * size;
  out.microseconds = with_memory(shape, us, m, n, bytes, results, out.order.splits);
  return out;
}

// Calls act(size) for the sizes of a tile that match `wanted`, where that is not 0. Multicast slices are
// multiples of eight lines.
template <class Act>
void each_size(const TileShape& shape, const TileSize& wanted, const Act& act) {
  if (!shape.any_size) return act(shape);
  const auto is_wanted = [](int value, int one) { return one == 0 || value == one; };
  for (int rows = any_rows; rows <= shape.rows; rows += any_rows)
    for (int cols = any_cols; cols <= shape.cols; cols += any_cols) {
      if (rows + cols > most_any_lines || !is_wanted(rows, wanted.rows) || !is_wanted(cols, wanted.cols))
        continue;
      for (int high = 1; high <= most_cluster_side; high *= 2)
        for (int wide = 1; wide <= most_cluster_side && high * wide <= most_cluster_blocks; wide *= 2)
          if (cols % (8 * high) == 0 && rows % (8 * wide) == 0 && is_wanted(high, wanted.cluster_rows) &&
              is_wanted(wide, wanted.cluster_cols))
            act(TileSize{rows, cols, high, wide});
    }
}

TileShape of_size(const TileShape& shape, const TileSize& size) {
  TileShape out = shape;
  if (!shape.any_size) return out;
  static_cast<TileSize&>(out) = size;
  const double area = static_cast<double>(size.rows * size.cols) / (shape.rows * shape.cols);
  out.stage_us = shape.least_stage_us + (shape.stage_us - shape.least_stage_us) * area;
  out.tile_us = shape.least_tile_us + (shape.tile_us - shape.least_tile_us) * area;
  return out;
}

// A lower bound of the time of plans with these tiles.
double least_time(const TileShape& shape, std::int64_t m, std::int64_t n, std::int64_t stages, int processors,
                  CacheLines lines) {
  const std::int64_t clusters = ceil_div(m, std::int64_t{shape.rows} * shape.cluster_rows) *
                                ceil_div(n, std::int64_t{shape.cols} * shape.cluster_cols),
                     rounds = ceil_div(clusters, max_active_clusters(processors, shape.cluster()));
  const double stage = stage_us(shape, m, n, clusters * shape.cluster(), processors, 0, lines);
  return static_cast<double>(rounds) *
         (static_cast<double>(stages) * stage + shape.tile_us - shape.overlapped_us);
}

bool fits_workspace(const TileShape& shape, const TilePlan& plan) {
  if (plan.order.splits == 1) return true;
  return partial_bytes(shape, plan) <= std::size_t{most_split_bytes} && plan.blocks <= most_split_tiles;
}

}  // namespace

std::size_t partial_bytes(const TileShape& shape, const TilePlan& plan) {
  return static_cast<std::size_t>(plan.blocks * shape.rows * shape.cols) * 4;
}

TilePlan plan_tiles(TileShapes shapes, std::int64_t m, std::int64_t n, std::int64_t k, int stage,
                    int processors, unsigned tiles, const TileOptions& options, double results,
                    CacheLines lines) {
  const std::int64_t stages = ceil_div(k, stage);
  TilePlan best;
  bool found = false;
  for (int tile = 0; tile < static_cast<int>(shapes.size()); ++tile) {
    if ((tiles >> tile & 1) == 0 || (options.tile != 0 && options.tile != tile + 1)) continue;
    const TileShape& largest = shapes[static_cast<std::size_t>(tile)];
    each_size(largest, options.size, [&](const TileSize& size) {
      TileShape shape = of_size(largest, size);
      shape.tile_us *= results;
      shape.last_us *= results;
      // Clusters of more than two blocks only pay if loads request cache lines twice.
      if (shape.any_size && size.cluster() > 2 && lines.of_a == 1 && lines.of_b == 1 &&
          options.size.cluster_rows == 0 && options.size.cluster_cols == 0)
        return;
      if (shape.any_size && found && least_time(shape, m, n, stages, processors, lines) >= best.microseconds)
        return;
      const bool allows_split_k = !shape.any_size && (shape.allows_split_k || options.splits != 0);
      const std::int64_t most = shape.cluster_split_k ? most_cluster_splits
                                : allows_split_k      ? most_splits
                                                      : 1,
                         requested = std::min<std::int64_t>(options.splits, most);
      for (std::int64_t splits = 1; splits <= most; ++splits) {
        if (requested != 0 ? splits != requested
                           : splits > 1 && stages / splits <
                                               (shape.cluster_split_k ? least_cluster_stages : least_stages))
          continue;
        TileShape here = shape;
        if (results == 1 && splits == 1 && stages >= least_overlapped_depth<2>) {
          here.tile_us -= shape.overlapped_us;
          here.last_us += shape.overlapped_us;
        }
        TilePlan plan = planned(here, m, n, stages, splits, processors, results, lines);
        if (!fits_workspace(shape, plan)) {
          if (options.splits == 0) continue;
          plan = planned(shape, m, n, stages, 1, processors, results, lines);
        }
        if (options.tail != 1) {
          const TilePlan narrow =
              with_tail_tiles(plan, shape, m, n, max_active_clusters(processors, shape.cluster()),
                              operand_bytes(m, n, stages), results, lines);
          if (options.tail == 2 || narrow.microseconds < plan.microseconds) plan = narrow;
        }
        if (found && plan.microseconds >= best.microseconds) continue;
        best = plan;
        best.tile = tile;
        best.size = size;
        found = true;
      }
    });
  }
  // A requested tile or size that these operands do not allow is ignored.
  if (!found)
    return plan_tiles(
        shapes, m, n, k, stage, processors, tiles,
        {.tile = 0, .splits = options.splits, .group = options.group, .tail = options.tail, .size = {}},
        results, lines);
  if (options.group != 0) best.order.group = options.group;
  best.order.group =
      std::min(best.order.group, best.order.rows);  // TileScheduler's bands have fewer than 2^31 tiles
  return best;
}

namespace {

// The cost of a further launch beyond its own plan; and the least time of a product for which cuts are
// considered, since planning a part takes the host some microseconds.
constexpr double launch_us = 0.3, least_us = 40;
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
    PlannedLaunch& part = out.launch[out.count];
    part = {row, col, rows, cols, plan_(rows, cols, out.count == 0)};
    out.microseconds += part.plan.microseconds;
    ++out.count;
  }

  std::int64_t m_, n_;
  const LaunchPlanner& plan_;
};

}  // namespace

PlannedLaunches plan_launches(std::int64_t m, std::int64_t n, LaunchCount count, const LaunchPlanner& plan) {
  const Planner planner(m, n, plan);
  const std::int64_t rows = rounded_down(m), cols = rounded_down(n);
  const bool splits_rows = rows > 0 && rows < m;
  const bool splits_cols = cols > 0 && cols < n;
  if (count == LaunchCount::several && (splits_rows || splits_cols))
    return planner.split_at(splits_rows ? rows : m, splits_cols ? cols : n);
  PlannedLaunches best = planner.split_at(m, n);
  if (count != LaunchCount::model || best.microseconds < least_us) return best;
  const auto attempt = [&](std::int64_t part_rows, std::int64_t part_cols) {
    const PlannedLaunches cut = planner.split_at(part_rows, part_cols);
    if (cut.microseconds < best.microseconds) best = cut;
  };
  if (splits_rows) attempt(rows, n);
  if (splits_cols) attempt(m, cols);
  if (splits_rows && splits_cols) attempt(rows, cols);
  return best;
}

Reason refuses_size(const TileSize& wanted, TileShapes shapes) {
  bool is_available = false;
  for (const TileShape& shape : shapes)
    each_size(shape, wanted, [&](const TileSize&) { is_available |= shape.any_size; });
  if (is_available || (wanted.rows | wanted.cols | wanted.cluster_rows | wanted.cluster_cols) == 0)
    return std::nullopt;
  const TileShape& largest = *std::ranges::find(shapes, true, &TileShape::any_size);
  return "has no tile of so many rows and cols, below and beside: rows are a multiple of " +
         std::to_string(any_rows) + " up to " + std::to_string(largest.rows) + ", cols of " +
         std::to_string(any_cols) + " up to " + std::to_string(largest.cols) + ", at most " +
         std::to_string(most_any_lines) + " together; below and beside are 1, 2 or 4, at most " +
         std::to_string(most_cluster_blocks) + " together, and share out cols and rows in eights";
}

Reason refuses_tile(int tile, TileShapes shapes, unsigned tiles) {
  const int count = static_cast<int>(shapes.size());
  const auto is_available = [&](int one) { return one <= count && (tiles >> (one - 1) & 1) != 0; };
  if (tile == 0 || is_available(tile)) return std::nullopt;
  std::string available;
  for (int one = 1; one <= count; ++one)
    if (is_available(one)) available += (available.empty() ? "" : ", ") + std::to_string(one);
  const std::string why = tile > count ? "sums that are promoted" : "MN-major operands";
  return "has no tile=" + std::to_string(tile) + " for " + why + "; it has tile=" + available;
}

}  // namespace tessera::matmul
