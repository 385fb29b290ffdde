// SPDX-License-Identifier: Apache-2.0
// Which tile rung 11 cuts a product of floats into, and how its blocks share the work: by a model of what
// binds a multiprocessor. Plain arithmetic.
#pragma once
#include <cstdint>
#include <span>
#include "warp_layout.hpp"
#include "warp_shares.hpp"

namespace tessera::matmul {

// What the model knows of a tile: of the rate of multiply-adds, what blocks come near to that fill a
// multiprocessor, and a block that is alone there.
struct WarpTile {
  WarpTilesConfig config;
  double full, alone;
};

// The tiles that kernels are made for: for large results; for any; for small ones; for little more than a
// stream of B; and for small products two whose warps have the whole tile each, for a slice of the sum, and
// wait for each other only once.
inline constexpr WarpTilesConfig warp_large{.n = 256, .depth = 8, .stages = 5}, warp_middle{.blocks = 2},
    warp_small{.m = 64, .n = 64, .warp_m = 64, .warp_n = 32, .blocks = 6},
    warp_narrow{
        .m = 16, .n = 256, .depth = 8, .stages = 6, .warp_m = 16, .warp_n = 128, .blocks = 4, .lanes_m = 2},
    warp_sliced{.m = 64, .n = 64, .depth = 8, .stages = 5, .blocks = 2, .slices = 4},
    warp_sliced_small{
        .m = 32, .n = 32, .depth = 8, .stages = 4, .warp_m = 32, .warp_n = 32, .blocks = 2, .slices = 8};
inline constexpr WarpTile warp_tiles[] = {{warp_large, 0.76, 0.76},  {warp_middle, 0.715, 0.5},
                                          {warp_small, 0.70, 0.25},  {warp_narrow, 0.65, 0.4},
                                          {warp_sliced, 0.68, 0.50}, {warp_sliced_small, 0.52, 0.38}};
inline constexpr int warp_tile_count = static_cast<int>(sizeof warp_tiles / sizeof *warp_tiles);

struct WarpPlan {
  int tile = 0;
  TileOrder order;
  WarpShares shares;
  double cycles = 0;  // what the model tells
};

// What the caller would have; 0: the model's choice. Splits: equal parts of each tile's sum.
struct WarpWish {
  int tile = 0;  // counted from 1
  int splits = 0;
};

struct WarpMachine {
  int processors;
  std::int64_t shared_bytes;  // that a block may have
};

// Of shared memory, with the 16 bytes that part the rows of a panel.
constexpr std::int64_t warp_shared_bytes(const WarpTilesConfig& config, std::int64_t element) {
  return std::int64_t{config.slices} * config.stages * config.depth * ((config.m + config.n) * element + 32);
}

// Whether it pays to copy an operand first, to rows across k of whole 16-byte pieces: a pass over it, against
// the share `lost` of the product's time that the kernel loses by reading it as it lies. `lines`: its extent
// across k; `others`: that of the other operand.
bool is_worth_a_copy(double lost, std::int64_t lines, std::int64_t others, std::int64_t k);

// Of one NVIDIA H200: turning B costs that much, turning A nothing; taking elements one by one more.
inline constexpr double lost_by_turning_b = 0.06, lost_by_single_elements = 0.1;

// Spare memory: a counter for each tile, and the parts of sums.
inline constexpr std::int64_t most_warp_counters = std::int64_t{1} << 14;
std::int64_t warp_partial_bytes(std::int64_t m, std::int64_t n);

// m, n ≥ 1, k ≥ 0; tiles: bits of those that have a kernel for how the operands lie. Tiles without room in
// shared memory, and wishes for them, are left out.
WarpPlan plan_warp_tiles(std::int64_t m, std::int64_t n, std::int64_t k, const WarpMachine& machine,
                         unsigned tiles, const WarpWish& wish = {});

}  // namespace tessera::matmul
