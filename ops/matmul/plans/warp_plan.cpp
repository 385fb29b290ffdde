// SPDX-License-Identifier: Apache-2.0
#include "ops/matmul/plans/warp_plan.hpp"
#include <algorithm>
#include <cmath>
#include <limits>
#include "tessera/core/array/rounding.hpp"

namespace tessera::matmul {
namespace {

// In cycles, and bytes per cycle, of a multiprocessor. Fitted, like the costs of tiles, to 161 products of
// floats on one NVIDIA H200 (of tools/shapes random 555 and 777, cubes, and few rows), each with several
// tiles, 22 of them with B across k: results/nvidia-h200/matmul/matmul-plan-times.csv. Times of 060577e5 that
// were not measured again enter 3 % shorter, because partial sums of many tiles took longer there. The fit
// minimises the slowdown of the chosen plan and the time error. The tile of one warp was fitted later, to 331
// times, with the other costs fixed.
constexpr double multiply_adds = 128, memory_rate = 13.24, store_rate = 111.9;
constexpr double exposed = 0.3248;  // fraction of `ends` if other blocks multiply meanwhile
constexpr double restart = 9443;    // a block's first copies for its next tile
constexpr double adding = 4266;     // the second launch, which adds the parts
constexpr double add_rate = 8.156;  // bytes of parts added per cycle

// The cost of a tile: fractions of the peak rate of multiply-adds that it reaches with as many blocks as fill
// a multiprocessor, and with a single block; the cycles of a block's prologue and epilogue.
struct WarpCost {
  double full, alone, ends;
};
constexpr WarpCost costs[warp_tile_count] = {
    {0.8334, 0.7436, 17210}, {0.7383, 0.5613, 4734}, {0.5371, 0.3628, 4651}, {0.5406, 0.4833, 5000},
    {0.5974, 0.439, 3791},   {0.8216, 0.7349, 8035}, {0.6986, 0.6787, 6533}, {0.5421, 0.2122, 2291}};
constexpr double by_elements = 0.576;  // factor on these rates if lines are copied element by element

constexpr std::int64_t min_depth = 32;

std::int64_t parts(std::int64_t whole, std::int64_t part) { return (whole + part - 1) / part; }

double combined(double a, double b) { return std::sqrt(std::sqrt(a * a * a * a + b * b * b * b)); }

// Returns the cycles of a stage with `count` resident blocks. The warps share four schedulers, and the stage
// takes as long as the scheduler with the most warps.
double stage_cycles(int tile, std::int64_t count) {
  const WarpTilesConfig& c = warp_tiles[tile];
  const double filled = c.blocks == 1 ? 1 : double(count - 1) / (c.blocks - 1);
  const double rate = costs[tile].alone + (costs[tile].full - costs[tile].alone) * std::sqrt(filled);
  constexpr std::int64_t schedulers = 4;
  const std::int64_t warps = c.threads() / 32;
  const double equal_shares = double(round_up(count * warps, schedulers)) / double(warps);
  return equal_shares * c.m * c.n * c.depth / multiply_adds / rate;
}

// Returns the cycles of `count` blocks of `stages` stages each, in waves over all multiprocessors.
double busy(int tile, std::int64_t count, std::int64_t stages, int multiprocessors) {
  const int blocks = warp_tiles[tile].blocks;
  const std::int64_t slots = std::int64_t{multiprocessors} * blocks, rounds = count / slots;
  double cycles = double(rounds * stages) * stage_cycles(tile, blocks);
  if (count % slots != 0)
    cycles += double(stages) * stage_cycles(tile, parts(count % slots, multiprocessors));
  return cycles;
}

// `single`: lines are copied element by element.
double cycles_of(const WarpPlan& plan, double moved_bytes, bool single, int multiprocessors) {
  const WarpTilesConfig& tile = warp_tiles[plan.tile];
  const StreamK& s = plan.stream_k;
  const double bytes = 4.0 * tile.m * tile.n;
  const std::int64_t others = s.blocks() - s.data_parallel_tiles;
  const auto resident = [&](std::int64_t blocks) {  // on a multiprocessor
    return static_cast<double>(std::min<std::int64_t>(parts(blocks, multiprocessors), tile.blocks));
  };
  // The slices of a sum run concurrently and take as long as the longest.
  const auto sliced = [&](std::int64_t stages) { return parts(stages, tile.slices) * tile.slices; };
  double cycles = busy(plan.tile, s.data_parallel_tiles, sliced(s.stages), multiprocessors) +
                  busy(plan.tile, others, sliced(s.iterations_per_block), multiprocessors);
  if (single) cycles /= by_elements;
  cycles = combined(cycles, moved_bytes / (memory_rate * multiprocessors));
  const auto each = static_cast<double>(parts(s.blocks(), multiprocessors));
  cycles += costs[plan.tile].ends * (tile.blocks == 1 ? each : 1 + exposed * (each - 1));
  if (s.iterations_per_block == s.stages || others == 0) return cycles;
  // All blocks store their parts at the same time; then all multiprocessors add them.
  if (s.iterations_per_tile % s.iterations_per_block != 0)
    cycles += restart * static_cast<double>(parts(s.iterations_per_block, s.stages));
  return cycles + adding + resident(others) * bytes / store_rate +
         double(s.slots()) * bytes / (add_rate * multiprocessors);
}

WarpPlan planned(int tile, std::int64_t m, std::int64_t n, std::int64_t k) {
  const WarpTilesConfig& config = warp_tiles[tile];
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
  const WarpTilesConfig& config = warp_tiles[tile];
  return std::max<std::int64_t>(parts(min_depth, config.depth), config.slices);
}

// Splits each tile's sum into equal parts of `unit` stages or a multiple.
WarpPlan with_split_k(WarpPlan plan, std::int64_t splits, std::int64_t unit = 1) {
  StreamK& s = plan.stream_k;
  s.iterations_per_block = static_cast<std::int32_t>(parts(parts(s.stages, unit), splits) * unit);
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
  const WarpTilesConfig& c = warp_tiles[plan.tile];
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
  const std::int64_t blocks = warp_tiles[plain.tile].blocks, concurrent = machine.multiprocessors * blocks,
                     most =
                         std::min(plain.stream_k.stages / min_iterations_per_block(plain.tile), concurrent);
  for (std::int64_t count = 2; count <= most; count += std::max<std::int64_t>(count / 4, 1))
    consider(with_split_k(plain, count));
  if (warp_tiles[plain.tile].slices > 1) return;
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
    const WarpTilesConfig& config = warp_tiles[tile];
    if (options.exact_parts != 0 && config.slices > 1) continue;
    if (warp_shared_bytes(config, 4) > machine.shared_bytes) continue;
    const WarpPlan plain = planned(tile, m, n, k);
    const auto consider = [&](WarpPlan plan) {
      plan.cycles = cycles_of(plan, moved_bytes, (single >> tile & 1) != 0, machine.multiprocessors);
      if (found && plan.cycles >= best.cycles) return;
      best = plan;
      found = true;
    };
    if (options.exact_parts != 0) {
      consider(with_split_k(plain, options.exact_parts, min_depth / config.depth));
      continue;
    }
    try_tile(plain, machine, options.splits, [&](const WarpPlan& plan) {
      consider(bytes_of_partials(plan) > max_warp_partial_bytes ? plain : plan);
    });
  }
  if (found || options.tile == 0) return best;
  WarpOptions any_tile = options;
  any_tile.tile = 0;
  return plan_warp_tiles(m, n, k, machine, tiles, any_tile, single);
}

int warp_parts_of_any_rows(std::int64_t n, std::int64_t k, const WarpMachine& machine) {
  constexpr int max_parts = 16;
  constexpr std::int64_t few_rows = 16, many_rows = 2048;
  const std::int64_t units = std::max<std::int64_t>(parts(k, min_depth), 1);
  int best = 1;
  double least = std::numeric_limits<double>::infinity();
  for (int count = 1; count <= max_parts; ++count) {
    const std::int64_t at_once = count == 1 ? many_rows : warp_rows_at_once(n, count);
    // Parts of equally many units may suffice with a smaller number of them.
    if (at_once == 0 || parts(units, parts(units, count)) != count) continue;
    const auto cycles_at_once = [&](std::int64_t rows) {
      return rows == 0 ? 0.0 : plan_warp_tiles(rows, n, k, machine, ~0u, {.exact_parts = count}).cycles;
    };
    const auto cycles = [&](std::int64_t rows) {
      const std::int64_t chunk = std::min(rows, at_once);
      return static_cast<double>(rows / chunk) * cycles_at_once(chunk) + cycles_at_once(rows % chunk);
    };
    if (const double product = cycles(few_rows) * cycles(many_rows); product < least) {
      least = product;
      best = count;
    }
  }
  return best;
}

std::int64_t warp_rows_at_once(std::int64_t n, int parts_of_sum) {
  // StreamK::slot leaves one slot of each tile unused.
  const std::int64_t tile_rows = warp_large.m,
                     bytes_of_row = round_up(n, warp_large.n) * 4 * (parts_of_sum + 1);
  return max_warp_partial_bytes / bytes_of_row / tile_rows * tile_rows;
}

}  // namespace tessera::matmul
