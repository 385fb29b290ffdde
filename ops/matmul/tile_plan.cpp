// SPDX-License-Identifier: Apache-2.0
#include "tile_plan.hpp"
#include <algorithm>

namespace tessera::matmul {
namespace {

constexpr double split_us = 1.5;  // each part's sums on their way through memory
constexpr std::int64_t least_stages = 8;
constexpr std::int32_t usual_group = 8;
constexpr std::int64_t most_splits = 16;

std::int64_t parts(std::int64_t whole, std::int64_t part) { return (whole + part - 1) / part; }

TilePlan planned(TileShapes shapes, int tile, std::int64_t m, std::int64_t n, std::int64_t stages, std::int64_t splits, int processors) {
  const TileShape& shape = shapes[static_cast<std::size_t>(tile)];
  TilePlan out;
  out.tile = tile;
  out.depth = static_cast<std::int32_t>(stages);
  out.split_depth = static_cast<std::int32_t>(std::max<std::int64_t>(parts(stages, splits), 1));
  out.order.rows = static_cast<std::int32_t>(parts(m, std::int64_t{shape.rows} * shape.cluster_rows));
  out.order.cols = static_cast<std::int32_t>(parts(n, std::int64_t{shape.cols} * shape.cluster_cols));
  out.order.splits = static_cast<std::int32_t>(std::max<std::int64_t>(parts(stages, out.split_depth), 1));
  out.order.group = std::max(1, usual_group / shape.cluster_rows * 2);
  const int cluster = shape.cluster_rows * shape.cluster_cols;
  out.blocks = out.order.count() * cluster;
  const std::int64_t rounds = parts(out.order.count(), std::max(1, processors / cluster));
  out.microseconds = static_cast<double>(rounds) * (out.split_depth * shape.stage_us + shape.tile_us) +
                     shape.last_us +
                     (out.order.splits > 1 ? split_us * (out.order.splits + 1) : 0);
  return out;
}

bool has_room(TileShapes shapes, const TilePlan& plan) {
  if (plan.order.splits == 1) return true;
  const TileShape& shape = shapes[static_cast<std::size_t>(plan.tile)];
  return plan.blocks * shape.rows * shape.cols * 4 <= most_split_bytes && plan.blocks <= most_split_tiles;
}

}  // namespace

TilePlan plan_tiles(TileShapes shapes, std::int64_t m, std::int64_t n, std::int64_t k, int stage, int processors, unsigned tiles,
                    const TileWish& wish) {
  const std::int64_t stages = parts(k, stage);
  TilePlan best;
  bool found = false;
  for (int tile = 0; tile < tile_count; ++tile) {
    if ((tiles >> tile & 1) == 0 || (wish.tile != 0 && wish.tile != tile + 1)) continue;
    for (std::int64_t splits = 1; splits <= most_splits; ++splits) {
      if (wish.splits != 0 ? splits != wish.splits : splits > 1 && stages / splits < least_stages) continue;
      TilePlan plan = planned(shapes, tile, m, n, stages, splits, processors);
      if (!has_room(shapes, plan)) {
        if (wish.splits == 0) continue;
        plan = planned(shapes, tile, m, n, stages, 1, processors);
      }
      if (found && plan.microseconds >= best.microseconds) continue;
      best = plan;
      found = true;
    }
  }
  // A wish for a tile that these operands do not allow is not heard.
  if (!found) return plan_tiles(shapes, m, n, k, stage, processors, tiles, {.tile = 0, .splits = wish.splits, .group = wish.group});
  if (wish.group != 0) best.order.group = wish.group;
  return best;
}

}  // namespace tessera::matmul
