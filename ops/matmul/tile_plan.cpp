// SPDX-License-Identifier: Apache-2.0
#include "tile_plan.hpp"
#include <algorithm>

namespace tessera::matmul {
namespace {

constexpr double meeting_us = 5,
                 split_us =
                     0.7;  // parts that wait for each other; each part's sums on their way through memory
constexpr double joined_us = 1.2,
                 again_us =
                     4;  // the same of a cluster's blocks, for 128 × 128 sums each; blocks that come later
// Bytes of operands that reach all multiprocessors in a microsecond: for one block each, or for all who need
// them.
constexpr double arriving = 10.7e6, arriving_for_all = 12.7e6;
// Bytes of the cache's lines that all multiprocessors can ask for in a microsecond, where some are asked for
// twice.
constexpr double asked_for = 11.6e6;
constexpr double asked_for_by_one = 136e3;  // and one of them
constexpr std::int64_t least_stages = 8, least_joined = 4;
constexpr std::int32_t usual_group = 8;
constexpr std::int64_t most_splits = 16;

std::int64_t parts(std::int64_t whole, std::int64_t part) { return (whole + part - 1) / part; }

// What a model tells of `units` that blocks take in turn, the first `tiles` of them as long as `tile_us`, the
// others strips.
double longest(std::int64_t tiles, double tile_us, std::int64_t units, double unit_us,
               std::int64_t clusters) {
  double out = 0;
  for (std::int64_t i = 0; i < std::min(clusters, units); ++i) {
    const std::int64_t all = (units - i - 1) / clusters + 1,
                       whole = i < tiles ? (tiles - i - 1) / clusters + 1 : 0;
    out = std::max(out, static_cast<double>(whole) * tile_us + static_cast<double>(all - whole) * unit_us);
  }
  return out;
}

// What a stage takes where so many blocks are at work: they share the ways from the L2.
double stage_us(const TileShape& shape, std::int64_t blocks, int processors, CacheLines lines) {
  const int cluster = shape.cluster_rows * shape.cluster_cols;
  const double each = 128.0 * static_cast<double>(std::min<std::int64_t>(blocks, processors));
  const double us = std::max(shape.stage_us,
                             each * (shape.rows + shape.cols) / (cluster > 1 ? arriving_for_all : arriving));
  if (lines.of_a == 1 && lines.of_b == 1) return us;
  const int asked =
      shape.rows / shape.cluster_cols * lines.of_a + shape.cols / shape.cluster_rows * lines.of_b;
  return std::max({us, each * asked / asked_for, 128.0 * asked / asked_for_by_one});
}

// The same with columns that fill no tile in strips; as it was where there are none, or too many.
TilePlan in_strips(const TilePlan& whole, const TileShape& shape, std::int64_t m, std::int64_t n,
                   std::int64_t clusters, CacheLines lines) {
  constexpr std::int64_t most_strips = 2;
  const std::int64_t wide = std::int64_t{shape.cols} * shape.cluster_cols,
                     strips = parts(n % wide, StripOrder::cols);
  if (shape.strip_us == 0 || n < wide || strips == 0 || strips > most_strips || whole.order.splits > 1 ||
      whole.together > 1)
    return whole;
  const int cluster = shape.cluster_rows * shape.cluster_cols;
  const double tile_us =
                   whole.depth * stage_us(shape, whole.blocks, static_cast<int>(clusters) * cluster, lines) +
                   shape.tile_us,
               piece_us = whole.depth * shape.strip_us + shape.tile_us;
  TilePlan best = whole;
  for (std::int32_t tall = 1; tall <= 8; ++tall) {
    TilePlan out = whole;
    out.order.cols = static_cast<std::int32_t>(n / wide);
    out.strips = {static_cast<std::int32_t>(parts(m, shape.rows)), static_cast<std::int32_t>(strips), tall};
    out.units = out.order.count() + out.strips.units(cluster);
    out.blocks = out.units * cluster;
    out.microseconds =
        shape.last_us + longest(out.order.count(), tile_us, out.units, tall * piece_us, clusters);
    if (best.strips.strips == 0 || out.microseconds < best.microseconds) best = out;
  }
  return best;
}

TilePlan planned(const TileShape& shape, std::int64_t m, std::int64_t n, std::int64_t stages,
                 std::int64_t splits, int processors, CacheLines lines) {
  TilePlan out;
  out.depth = static_cast<std::int32_t>(stages);
  out.split_depth = static_cast<std::int32_t>(std::max<std::int64_t>(parts(stages, splits), 1));
  out.order.rows = static_cast<std::int32_t>(parts(m, std::int64_t{shape.rows} * shape.cluster_rows));
  out.order.cols = static_cast<std::int32_t>(parts(n, std::int64_t{shape.cols} * shape.cluster_cols));
  const auto sums = static_cast<std::int32_t>(std::max<std::int64_t>(parts(stages, out.split_depth), 1));
  out.together = shape.joins ? sums : 1;
  out.order.splits = shape.joins ? 1 : sums;
  out.order.group = std::max(1, usual_group / shape.cluster_rows * 2);
  const int cluster = shape.cluster_rows * shape.cluster_cols * out.together;
  out.units = out.order.count();
  out.blocks = out.units * cluster;
  // Large clusters do not fill a device: its multiprocessors come in groups of some 16.
  const int placed = cluster > 2 ? processors * 9 / 10 : processors;
  const std::int64_t rounds = parts(out.units, std::max(1, placed / cluster));
  const double joining = joined_us * out.together * (shape.rows * shape.cols / 16384.0) +
                         again_us * static_cast<double>(rounds - 1);
  out.microseconds = static_cast<double>(rounds) *
                         (out.split_depth * stage_us(shape, out.blocks, processors, lines) + shape.tile_us) +
                     shape.last_us + (out.order.splits > 1 ? meeting_us + split_us * out.order.splits : 0) +
                     (out.together > 1 ? joining : 0);
  return out;
}

bool has_room(const TileShape& shape, const TilePlan& plan) {
  if (plan.order.splits == 1) return true;
  return plan.blocks * shape.rows * shape.cols * 4 <= most_split_bytes && plan.blocks <= most_split_tiles;
}

}  // namespace

TilePlan plan_tiles(TileShapes shapes, std::int64_t m, std::int64_t n, std::int64_t k, int stage,
                    int processors, unsigned tiles, const TileWish& wish, double results, CacheLines lines) {
  const std::int64_t stages = parts(k, stage);
  TilePlan best;
  bool found = false;
  for (int tile = 0; tile < static_cast<int>(shapes.size()); ++tile) {
    if ((tiles >> tile & 1) == 0 || (wish.tile != 0 && wish.tile != tile + 1)) continue;
    TileShape shape = shapes[static_cast<std::size_t>(tile)];
    shape.tile_us *= results;
    shape.last_us *= results;
    // More than two blocks in a cluster have not been worth it: fewer clusters find room.
    const std::int64_t unjoined = shape.cuts_sums || wish.splits != 0 ? most_splits : 1;
    const std::int64_t most = !shape.joins       ? unjoined
                              : wish.splits == 0 ? 2
                                                 : most_together,
                       wished = std::min<std::int64_t>(wish.splits, most);
    for (std::int64_t splits = 1; splits <= most; ++splits) {
      if (wished != 0 ? splits != wished
                      : splits > 1 && stages / splits < (shape.joins ? least_joined : least_stages))
        continue;
      TileShape here = shape;
      if (results == 1 && splits == 1 && stages >= least_waiting_depth<2>) {
        here.tile_us -= shape.waiting_us;
        here.last_us += shape.waiting_us;
      }
      TilePlan plan = planned(here, m, n, stages, splits, processors, lines);
      if (!has_room(shape, plan)) {
        if (wish.splits == 0) continue;
        plan = planned(shape, m, n, stages, 1, processors, lines);
      }
      if (wish.strips != 1) {
        const TilePlan narrow = in_strips(
            plan, shape, m, n, std::max(1, processors / (shape.cluster_rows * shape.cluster_cols)), lines);
        if (wish.strips == 2 || narrow.microseconds < plan.microseconds) plan = narrow;
      }
      if (found && plan.microseconds >= best.microseconds) continue;
      best = plan;
      best.tile = tile;
      found = true;
    }
  }
  // A wish for a tile that these operands do not allow is not heard.
  if (!found)
    return plan_tiles(shapes, m, n, k, stage, processors, tiles,
                      {.tile = 0, .splits = wish.splits, .group = wish.group, .strips = wish.strips}, results,
                      lines);
  if (wish.group != 0) best.order.group = wish.group;
  return best;
}

}  // namespace tessera::matmul
