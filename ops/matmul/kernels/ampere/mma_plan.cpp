// SPDX-License-Identifier: Apache-2.0
#include "ops/matmul/kernels/ampere/mma_plan.hpp"
#include <algorithm>
#include <cmath>

namespace tessera::matmul {
namespace {

// Fitted as the costs of tiles are. Only their proportions matter.
constexpr double memory_rate = 12.7;  // bytes a cycle, of a multiprocessor
constexpr double seen = 0.22;         // of ends, where other blocks multiply meanwhile
constexpr double meeting = 3600,
                 part_rate = 39;  // cycles, and bytes a cycle, of sums that parts leave and add
constexpr std::int64_t least_stages = 2, most_splits = 32, widest = 128;

// What a tile takes a multiprocessor, in cycles: a stage (of sliced sums one of each slice) where other
// blocks are there or wait, and where none is; its beginning and end.
struct MmaCost {
  double stage, alone, ends;
};
// Of doubles: fitted to 81 products with both operands along k on one NVIDIA H100 (of tools/shapes random 7,
// and of tools/product_tables.py), each in every tile and in several numbers of parts: the choice takes 2 %
// longer than the best of them. Of 16 bits: what the tensor cores, shared memory and the cache allow.
constexpr MmaCost f64_costs[] = {{2200, 2240, 10250}, {1220, 1490, 13240}, {590, 690, 9320},
                                 {361, 497, 6710},    {528, 640, 7100},    {852, 1270, 5630},
                                 {691, 1290, 3970},   {1670, 1720, 3550}};
constexpr MmaCost half_costs[] = {{1280, 1280, 3500}, {480, 520, 2000}};
static_assert(std::size(f64_costs) == std::size(mma_f64_tiles) &&
              std::size(half_costs) == std::size(mma_half_tiles));

std::int64_t parts(std::int64_t whole, std::int64_t part) { return (whole + part - 1) / part; }

// Of things that happen at the same time, and get in each other's way where they take about as long.
template <class... T>
double combined(T... cycles) {
  return std::sqrt(std::sqrt((... + (cycles * cycles * cycles * cycles))));
}

double cycles_of(const MmaElement& element, const MmaPlan& plan, double moved_bytes, int processors) {
  const auto at = static_cast<std::size_t>(plan.tile);
  const MmaConfig& tile = element.tiles[at];
  const MmaCost& cost = element.bytes == 8 ? f64_costs[at] : half_costs[at];
  const auto each = static_cast<double>(parts(plan.order.count(), processors));  // units of a multiprocessor
  const double sums = each * static_cast<double>(parts(plan.split_depth, tile.slices)) *
                      (each == 1 ? cost.alone : cost.stage);
  const double ends = cost.ends * (tile.blocks == 1 ? each : 1 + seen * (each - 1));
  const double tile_bytes = double(tile.rows) * tile.cols * element.sum_bytes;
  const double split_cost =
      plan.order.splits > 1 ? meeting + tile_bytes / part_rate * (each + plan.order.splits) : 0;
  return combined(sums, moved_bytes / (memory_rate * processors)) + ends + split_cost;
}

MmaPlan planned(const MmaElement& element, int tile, std::int64_t m, std::int64_t n, std::int64_t stages,
                std::int64_t splits, int processors) {
  const MmaConfig& config = element.tiles[static_cast<std::size_t>(tile)];
  MmaPlan out;
  out.tile = tile;
  out.depth = static_cast<std::int32_t>(stages);
  out.split_depth = static_cast<std::int32_t>(std::max<std::int64_t>(parts(stages, splits), 1));
  out.order.rows = static_cast<std::int32_t>(parts(m, config.rows));
  out.order.cols = static_cast<std::int32_t>(parts(n, config.cols));
  out.order.splits = static_cast<std::int32_t>(std::max<std::int64_t>(parts(stages, out.split_depth), 1));
  // Blocks that run together cover a square of C, near enough.
  out.order.group =
      std::max(1, int(std::sqrt(double(processors) * config.blocks * config.cols / config.rows)));
  const double moved_bytes =
      (double(m) + double(n)) * double(stages) * 128 + double(m) * double(n) * element.bytes;
  out.cycles = cycles_of(element, out, moved_bytes, processors);
  return out;
}

bool has_room(const MmaElement& element, const MmaPlan& plan, std::int64_t partial_bytes) {
  if (plan.order.splits == 1) return true;
  const MmaConfig& tile = element.tiles[static_cast<std::size_t>(plan.tile)];
  const std::int64_t tiles = std::int64_t{plan.order.rows} * plan.order.cols;
  return tiles <= most_split_tiles &&
         plan.order.count() * tile.rows * tile.cols * element.sum_bytes <= partial_bytes;
}

}  // namespace

std::int64_t mma_partial_bytes(const MmaElement& element, std::int64_t m, std::int64_t n) {
  constexpr std::int64_t most = std::int64_t{64} << 20;
  const std::int64_t height = parts(m, widest) * widest, width = parts(n, widest) * widest;
  if (height > most / width) return most;
  return std::min(most, most_splits * height * width * element.sum_bytes);
}

std::size_t mma_split_bytes(const MmaElement& element, const MmaPlan& plan) {
  if (plan.order.splits == 1) return 0;
  const MmaConfig& tile = element.tiles[static_cast<std::size_t>(plan.tile)];
  return counter_bytes +
         static_cast<std::size_t>(plan.order.count() * tile.rows * tile.cols * element.sum_bytes);
}

MmaPlan plan_mma(const MmaElement& element, std::int64_t m, std::int64_t n, std::int64_t k,
                 const MmaMachine& machine, const MmaOptions& options) {
  const std::int64_t stages = parts(k, 128 / element.bytes), room = mma_partial_bytes(element, m, n);
  MmaPlan best;
  bool found = false;
  for (int tile = 0; tile < static_cast<int>(element.tiles.size()); ++tile) {
    if (element.tiles[static_cast<std::size_t>(tile)].shared_bytes() > machine.shared_bytes) continue;
    if (options.tile != 0 && options.tile != tile + 1) continue;
    const bool sliced =
        element.tiles[static_cast<std::size_t>(tile)].slices > 1;  // their sums are not cut twice
    if (sliced && options.splits > 1 && options.tile == 0) continue;
    for (std::int64_t splits = 1; splits <= most_splits; ++splits) {
      if (options.splits != 0 ? splits != options.splits : splits > 1 && stages / splits < least_stages)
        continue;
      MmaPlan plan = planned(element, tile, m, n, stages, sliced ? 1 : splits, machine.processors);
      if (!has_room(element, plan, room)) {
        if (options.splits == 0) continue;
        plan = planned(element, tile, m, n, stages, 1, machine.processors);
      }
      if (found && plan.cycles >= best.cycles) continue;
      best = plan;
      found = true;
    }
  }
  if (!found && options.tile != 0)
    return plan_mma(element, m, n, k, machine, {.tile = 0, .splits = options.splits, .group = options.group});
  if (options.group != 0) best.order.group = options.group;
  return best;
}

}  // namespace tessera::matmul
