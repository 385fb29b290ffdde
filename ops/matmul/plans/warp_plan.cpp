// SPDX-License-Identifier: Apache-2.0
#include "ops/matmul/plans/warp_plan.hpp"
#include <algorithm>
#include <cmath>

namespace tessera::matmul {
namespace {

// In cycles, and bytes per cycle, of a multiprocessor. Only their proportions matter. Fitted, like the rates
// of tiles, to 205 products (of tools/shapes random 7) on one NVIDIA H200, each with every tile, with B along
// k, and a third of them with B across k, too; the fit weights the speed of the chosen tile most.
constexpr double multiply_adds = 128, memory_rate = 9.643, store_rate = 92;
constexpr double start = 4949;      // a block's prologue and epilogue
constexpr double beside = 589;      // the exposed part of `start` for each further block on a multiprocessor
constexpr double restart = 8370;    // a block's first copies for its next tile
constexpr double adding = 2606;     // the second launch, which adds the parts
constexpr double add_rate = 5.905;  // bytes of parts added per cycle

// Fractions of the peak rate of multiply-adds that a tile reaches: with as many blocks as fill a
// multiprocessor, and with a single block.
struct Rates {
  double full, alone;
};
constexpr Rates rates[warp_tile_count] = {{0.738, 0.6143}, {0.6903, 0.5603}, {0.5092, 0.4488},
                                          {0.498, 0.4876}, {0.5957, 0.2748}, {0.735, 0.735},
                                          {0.6823, 0.6752}};
constexpr double by_elements = 0.5223;  // factor on these rates if lines are copied element by element

constexpr std::int64_t min_depth = 32;

std::int64_t parts(std::int64_t whole, std::int64_t part) { return (whole + part - 1) / part; }

double combined(double a, double b) { return std::sqrt(std::sqrt(a * a * a * a + b * b * b * b)); }

// Returns the cycles of a stage with `count` resident blocks.
double stage_cycles(int tile, std::int64_t count) {
  const WarpTilesConfig& c = warp_tiles[tile].config;
  const double filled = c.blocks == 1 ? 1 : double(count - 1) / (c.blocks - 1);
  const double rate = rates[tile].alone + (rates[tile].full - rates[tile].alone) * std::sqrt(filled);
  return double(count) * c.m * c.n * c.depth / multiply_adds / rate;
}

// Returns the cycles of `count` blocks of `stages` stages each, in waves over all multiprocessors.
double busy(int tile, std::int64_t count, std::int64_t stages, int multiprocessors) {
  const int blocks = warp_tiles[tile].config.blocks;
  const std::int64_t slots = std::int64_t{multiprocessors} * blocks, rounds = count / slots;
  double cycles = double(rounds * stages) * stage_cycles(tile, blocks);
  if (count % slots != 0)
    cycles += double(stages) * stage_cycles(tile, parts(count % slots, multiprocessors));
  return cycles;
}

// `single`: lines are copied element by element.
double cycles_of(const WarpPlan& plan, double moved_bytes, bool single, int multiprocessors) {
  const WarpTile& tile = warp_tiles[plan.tile];
  const StreamK& s = plan.stream_k;
  const double bytes = 4.0 * tile.config.m * tile.config.n;
  const std::int64_t slots = std::int64_t{multiprocessors} * tile.config.blocks;
  const std::int64_t others = s.blocks() - s.data_parallel_tiles;
  const auto resident = [&](std::int64_t blocks) {  // on a multiprocessor
    return static_cast<double>(std::min<std::int64_t>(parts(blocks, multiprocessors), tile.config.blocks));
  };
  // The slices of a sum run concurrently and take as long as the longest.
  const auto sliced = [&](std::int64_t stages) {
    return parts(stages, tile.config.slices) * tile.config.slices;
  };
  double cycles = busy(plan.tile, s.data_parallel_tiles, sliced(s.stages), multiprocessors) +
                  busy(plan.tile, others, sliced(s.iterations_per_block), multiprocessors);
  if (single) cycles /= by_elements;
  cycles = combined(cycles, moved_bytes / (memory_rate * multiprocessors));
  // Resident blocks hide each other's prologues and epilogues, except the first and the last.
  const auto rounds = static_cast<double>(parts(s.blocks(), tile.config.blocks == 1 ? slots : s.blocks()));
  cycles += rounds * (start + bytes / store_rate) + beside * (resident(s.blocks()) - 1);
  if (s.iterations_per_block == s.stages || others == 0) return cycles;
  // All blocks store their parts at the same time; then all multiprocessors add them.
  if (s.iterations_per_tile % s.iterations_per_block != 0)
    cycles += restart * static_cast<double>(parts(s.iterations_per_block, s.stages));
  return cycles + adding + resident(others) * bytes / store_rate +
         double(s.slots()) * bytes / (add_rate * multiprocessors);
}

WarpPlan planned(int tile, std::int64_t m, std::int64_t n, std::int64_t k) {
  const WarpTilesConfig& config = warp_tiles[tile].config;
  WarpPlan out;
  out.tile = tile;
  out.order = config.order(m, n);
  out.stream_k.tiles = out.stream_k.data_parallel_tiles = out.order.rows * out.order.cols;
  out.stream_k.stages = static_cast<std::int32_t>(std::max<std::int64_t>(parts(k, config.depth), 1));
  out.stream_k.iterations_per_tile = out.stream_k.iterations_per_block = out.stream_k.stages;
  return out;
}

// Returns the minimum of stages of a part, at least one per slice.
std::int64_t min_iterations_per_block(int tile) {
  const WarpTilesConfig& config = warp_tiles[tile].config;
  return std::max<std::int64_t>(parts(min_depth, config.depth), config.slices);
}

// Splits each tile's sum into equal parts.
WarpPlan with_split_k(WarpPlan plan, std::int64_t splits) {
  StreamK& s = plan.stream_k;
  s.iterations_per_block = static_cast<std::int32_t>(parts(s.stages, splits));
  s.iterations_per_tile =
      static_cast<std::int32_t>(parts(s.stages, s.iterations_per_block) * s.iterations_per_block);
  s.data_parallel_tiles = s.iterations_per_tile == s.iterations_per_block ? s.tiles : 0;
  return plan;
}

// Divides the iterations of the last partial wave and of one full wave evenly among `blocks` concurrent
// blocks.
WarpPlan with_stream_k(WarpPlan plan, std::int64_t blocks) {
  StreamK& s = plan.stream_k;
  const std::int64_t least = min_iterations_per_block(plan.tile);
  s.data_parallel_tiles = static_cast<std::int32_t>(std::max<std::int64_t>(s.tiles / blocks - 1, 0) * blocks);
  const std::int64_t iterations = std::max(parts(s.stream_k_iterations(), blocks), least);
  if (iterations == s.stages || iterations >= std::int64_t{s.stages} * 2) {
    s.data_parallel_tiles = s.tiles;
    return plan;
  }
  s.iterations_per_block = static_cast<std::int32_t>(iterations);
  return plan;
}

std::int64_t bytes_of_partials(const WarpPlan& plan) {
  const WarpTilesConfig& c = warp_tiles[plan.tile].config;
  return plan.stream_k.slots() * c.m * c.n * 4;
}

// The candidates of a tile, the simplest first: unsplit sums; split-K, with at most one split per concurrent
// block; stream-K, except with slices, which would restart with each tile.
template <class Try>
void try_tile(const WarpPlan& plain, const WarpMachine& machine, int splits, const Try& consider) {
  if (splits != 0) {
    consider(with_split_k(plain, splits));
    return;
  }
  consider(plain);
  const std::int64_t blocks = warp_tiles[plain.tile].config.blocks,
                     concurrent = machine.multiprocessors * blocks,
                     most =
                         std::min(plain.stream_k.stages / min_iterations_per_block(plain.tile), concurrent);
  for (std::int64_t count = 2; count <= most; count += std::max<std::int64_t>(count / 4, 1))
    consider(with_split_k(plain, count));
  if (warp_tiles[plain.tile].config.slices > 1) return;
  for (std::int64_t count = 1; count <= blocks; ++count)
    consider(with_stream_k(plain, machine.multiprocessors * count));
}

}  // namespace

std::size_t warp_workspace_bytes(const WarpPlan& plan) {
  return (static_cast<std::size_t>(bytes_of_partials(plan)) + 255) / 256 * 256;
}

WarpPlan plan_warp_tiles(std::int64_t m, std::int64_t n, std::int64_t k, const WarpMachine& machine,
                         unsigned tiles, const WarpOptions& options, unsigned single) {
  const double moved_bytes = 4 * ((double(m) + double(n)) * double(k) + double(m) * double(n));
  WarpPlan best;
  bool found = false;
  for (int tile = 0; tile < warp_tile_count; ++tile) {
    if ((tiles >> tile & 1) == 0 || (options.tile != 0 && options.tile != tile + 1)) continue;
    if (options.whole_sums && warp_tiles[tile].config.slices > 1) continue;
    if (warp_shared_bytes(warp_tiles[tile].config, 4) > machine.shared_bytes) continue;
    const WarpPlan plain = planned(tile, m, n, k);
    try_tile(plain, machine, options.whole_sums ? 1 : options.splits, [&](WarpPlan plan) {
      if (bytes_of_partials(plan) > max_warp_partial_bytes) plan = plain;
      plan.cycles = cycles_of(plan, moved_bytes, (single >> tile & 1) != 0, machine.multiprocessors);
      if (found && plan.cycles >= best.cycles) return;
      best = plan;
      found = true;
    });
  }
  if (found || options.tile == 0) return best;
  return plan_warp_tiles(m, n, k, machine, tiles,
                         {.tile = 0, .splits = options.splits, .whole_sums = options.whole_sums}, single);
}

}  // namespace tessera::matmul
