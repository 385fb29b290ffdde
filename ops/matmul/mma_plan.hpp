// SPDX-License-Identifier: Apache-2.0
// Which tile rung 12 cuts a product into, and whether its sums are split: by a model of what binds a
// multiprocessor. Plain arithmetic.
#pragma once
#include <cstdint>
#include <span>
#include "mma_layout.hpp"

namespace tessera::matmul {

// The tiles that kernels are made for. The small ones give every multiprocessor something to do, and blocks
// there hide each other's beginnings and ends; the fifth is for what is little more than a stream of B. In
// the last two, which are for small products, each warp has the whole tile for a slice of the sum: operands
// pass through shared memory less often, and warps wait for each other only once.
inline constexpr MmaConfig mma_f64_tiles[] = {
    {128, 128, 64, 32, 6, 1}, {128, 64, 64, 32, 4, 2},   {64, 64, 32, 32, 6, 2},   {32, 64, 16, 32, 6, 3},
    {16, 128, 16, 32, 6, 2},  {32, 32, 32, 32, 3, 2, 4}, {16, 32, 16, 32, 3, 2, 4}};
inline constexpr MmaConfig mma_half_tiles[] = {{128, 128, 64, 32, 5, 1}, {64, 64, 32, 32, 4, 3}};

// What a tile takes a multiprocessor, in cycles: a stage (of sliced sums one of each slice) where other
// blocks are there or wait, and where none is; its beginning and end.
struct MmaCost {
  double stage, alone, ends;
};
// Of doubles: fitted to products of ten shapes on one NVIDIA H200, each in every tile and in several parts.
// Of 16 bits: what the tensor cores, shared memory and the cache allow.
inline constexpr MmaCost mma_f64_costs[] = {{2340, 2340, 7000}, {1190, 1410, 6500}, {605, 770, 7000},
                                            {360, 500, 9000},   {445, 555, 7200},   {730, 990, 4950},
                                            {780, 620, 4300}};
inline constexpr MmaCost mma_half_costs[] = {{1280, 1280, 3500}, {480, 520, 2000}};

// What the kernels multiply: bytes of an element and of a sum.
struct MmaElement {
  std::span<const MmaConfig> tiles;
  std::span<const MmaCost> costs;
  int bytes, sum_bytes;
};
inline constexpr MmaElement mma_f64{mma_f64_tiles, mma_f64_costs, 8, 8},
    mma_half{mma_half_tiles, mma_half_costs, 2, 4};

struct MmaPlan {
  int tile = 0;
  TileOrder order;
  std::int32_t depth = 0, split_depth = 0;  // stages, in all and of each split
  double cycles = 0;                        // what the model tells
};

// What the caller would have; 0: the model's choice. More splits than spare memory holds are none.
struct MmaWish {
  int tile = 0;  // counted from 1
  int splits = 0, group = 0;
};

// What runs it: multiprocessors, and bytes of shared memory that a block may have.
struct MmaMachine {
  int processors;
  std::int64_t shared_bytes;
};

// Spare memory: a counter for each tile, and the sums of splits.
inline constexpr std::int64_t most_mma_counters = std::int64_t{1} << 16;
std::int64_t mma_partial_bytes(const MmaElement& element, std::int64_t m, std::int64_t n);

// m, n ≥ 1, k ≥ 0. A wish for a tile that the machine has no room for is not heard.
MmaPlan plan_mma(const MmaElement& element, std::int64_t m, std::int64_t n, std::int64_t k,
                 const MmaMachine& machine, const MmaWish& wish = {});

}  // namespace tessera::matmul
