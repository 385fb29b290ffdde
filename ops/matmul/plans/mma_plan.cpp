// SPDX-License-Identifier: Apache-2.0
#include "ops/matmul/plans/mma_plan.hpp"
#include <algorithm>
#include <cmath>

namespace tessera::matmul {
namespace {

// In cycles, and bytes per cycle, of a multiprocessor. Fitted like the costs of tiles; only their proportions
// matter.
constexpr double memory_rate = 12.4, cache_rate = 49;
constexpr double seen = 0.19;      // exposed fraction of `ends` if other blocks multiply meanwhile
constexpr double adding = 3210;    // the second launch, which adds the parts
constexpr double add_rate = 6.76;  // bytes of parts added per cycle
constexpr std::int64_t min_stages = 2;

// The cost of a tile in cycles of a multiprocessor: a stage (of sliced sums one of each slice) if the
// multiprocessor has several blocks to run, and if it has one; the prologue and epilogue.
struct MmaCost {
  double stage, alone, ends;
};
// Costs for doubles are fitted to 152 products with both operands along k on one NVIDIA H200 (of tools/shapes
// random 7 and 11 and of listed ones), each with every tile and up to six numbers of parts. Costs for 16 bits
// follow from the rates of the tensor cores, shared memory and the cache.
constexpr MmaCost f64_costs[] = {{2354, 2360, 14612}, {1409, 1627, 7835}, {631, 862, 6421},
                                 {684, 1279, 8533},   {508, 654, 5467},   {942, 1070, 6183},
                                 {849, 1416, 3855},   {1577, 2026, 4667}};
constexpr MmaCost half_costs[] = {{1280, 1280, 3500}, {480, 520, 2000}};
static_assert(std::size(f64_costs) == std::size(mma_f64_tiles) &&
              std::size(half_costs) == std::size(mma_half_tiles));

std::int64_t parts(std::int64_t whole, std::int64_t part) { return (whole + part - 1) / part; }

// Returns the time of concurrent activities, which slow each other down if they take about as long.
template <class... T>
double combined(T... cycles) {
  return std::sqrt(std::sqrt((... + (cycles * cycles * cycles * cycles))));
}

double cycles_of(const MmaElement& element, const MmaPlan& plan, double moved_bytes, int multiprocessors,
                 bool in_pieces) {
  const auto at = static_cast<std::size_t>(plan.tile);
  const MmaConfig& tile = element.tiles[at];
  const MmaCost& cost = element.bytes == 8 ? f64_costs[at] : half_costs[at];
  const auto each =
      static_cast<double>(parts(plan.order.count(), multiprocessors));  // units per multiprocessor
  const double sums = each * static_cast<double>(parts(plan.split_k_stages, tile.slices)) *
                      (each == 1 ? cost.alone : cost.stage);
  const double ends = cost.ends * (tile.blocks == 1 ? each : 1 + seen * (each - 1));
  const double tile_bytes = double(tile.rows) * tile.cols * element.sum_bytes;
  const double split_cost =
      plan.order.splits > 1 ? adding + tile_bytes * double(plan.order.count()) / (add_rate * multiprocessors)
                            : 0;
  // Traffic from the L2 cache, for doubles only: the costs for 16 bits include it. Copies of single
  // doubles are twice as many (a factor that is not fitted).
  const double cached_bytes =
      element.bytes == 8 ? double(plan.order.count()) * plan.split_k_stages * (tile.rows + tile.cols) * 128
                         : 0;
  return combined(sums, moved_bytes / (memory_rate * multiprocessors),
                  cached_bytes * (in_pieces ? 1 : 2) / (cache_rate * multiprocessors)) +
         ends + split_cost;
}

MmaPlan planned(const MmaElement& element, int tile, std::int64_t m, std::int64_t n, std::int64_t stages,
                std::int64_t splits, int multiprocessors, bool in_pieces) {
  const MmaConfig& config = element.tiles[static_cast<std::size_t>(tile)];
  MmaPlan out;
  out.tile = tile;
  out.k_stages = static_cast<std::int32_t>(stages);
  out.split_k_stages = static_cast<std::int32_t>(std::max<std::int64_t>(parts(stages, splits), 1));
  out.order.rows = static_cast<std::int32_t>(parts(m, config.rows));
  out.order.cols = static_cast<std::int32_t>(parts(n, config.cols));
  out.order.splits = static_cast<std::int32_t>(std::max<std::int64_t>(parts(stages, out.split_k_stages), 1));
  // Concurrent blocks cover roughly a square of C.
  out.order.raster_rows =
      std::max(1, int(std::sqrt(double(multiprocessors) * config.blocks * config.cols / config.rows)));
  const double moved_bytes =
      (double(m) + double(n)) * double(stages) * 128 + double(m) * double(n) * element.bytes;
  out.cycles = cycles_of(element, out, moved_bytes, multiprocessors, in_pieces);
  return out;
}

std::int64_t bytes_of_partials(const MmaElement& element, const MmaPlan& plan) {
  if (plan.order.splits == 1) return 0;
  const MmaConfig& tile = element.tiles[static_cast<std::size_t>(plan.tile)];
  return plan.order.count() * tile.rows * tile.cols * element.sum_bytes;
}

}  // namespace

Along MmaMatrixRef::along() const {
  return k_stride == 1 || k_stride <= line_stride ? Along::k : Along::lines;
}

bool MmaMatrixRef::has_aligned_lines(int bytes, std::int64_t k) const {
  const bool along_k = along() == Along::k;
  return (along_k ? k_stride : line_stride) == 1 &&
         ((along_k ? lines : k) == 1 || (along_k ? line_stride : k_stride) * bytes % 16 == 0);
}

std::size_t mma_workspace_bytes(const MmaElement& element, const MmaPlan& plan) {
  return static_cast<std::size_t>(bytes_of_partials(element, plan));
}

MmaPlan plan_mma(const MmaElement& element, std::int64_t m, std::int64_t n, std::int64_t k,
                 const MmaMachine& machine, const MmaOptions& options, bool in_pieces) {
  const std::int64_t stages = parts(k, 128 / element.bytes);
  MmaPlan best;
  bool found = false;
  for (int tile = 0; tile < static_cast<int>(element.tiles.size()); ++tile) {
    const MmaConfig& config = element.tiles[static_cast<std::size_t>(tile)];
    if (config.shared_bytes() > machine.shared_bytes) continue;
    if (options.tile != 0 && options.tile != tile + 1) continue;
    // At most one split per concurrent block, and at least one stage per slice in each.
    const std::int64_t least = std::max<std::int64_t>(min_stages, config.slices),
                       most = std::min<std::int64_t>(stages / least, machine.multiprocessors * config.blocks);
    const auto consider = [&](std::int64_t splits) {
      MmaPlan plan = planned(element, tile, m, n, stages, splits, machine.multiprocessors, in_pieces);
      if (bytes_of_partials(element, plan) > max_mma_partial_bytes)
        plan = planned(element, tile, m, n, stages, 1, machine.multiprocessors, in_pieces);
      if (found && plan.cycles >= best.cycles) return;
      best = plan;
      found = true;
    };
    if (options.splits != 0) consider(options.splits);
    else
      for (std::int64_t splits = 1; splits <= std::max<std::int64_t>(most, 1);
           splits += std::max<std::int64_t>(splits / 4, 1))
        consider(splits);
  }
  if (!found && options.tile != 0)
    return plan_mma(element, m, n, k, machine, {.tile = 0, .splits = options.splits, .group = options.group},
                    in_pieces);
  if (options.group != 0) best.order.raster_rows = options.group;
  best.order.raster_rows = std::min(best.order.raster_rows, best.order.rows);  // bounds TileScheduler's bands
  return best;
}

}  // namespace tessera::matmul
