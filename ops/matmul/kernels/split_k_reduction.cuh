// SPDX-License-Identifier: Apache-2.0
// Reduction of split-K and stream-K partial sums. Each block stores its partial sum of a tile to the
// workspace, row by row, and ends; a second kernel adds the partial sums of each element, in their order, and
// stores the result.
//
// No block waits for another, nothing is counted, and all multiprocessors add, however few tiles there are:
// the second launch, which becomes resident while the first ends, takes less time than blocks that meet in
// memory, the last of which has to read all partial sums.
#pragma once
#include <cstdint>
#include <cstring>
#include "ops/matmul/plans/tile_order.hpp"
#include "tessera/core/device/thread.hpp"

namespace tessera::matmul {

// The consecutive slots of a tile's partial sums in the workspace. A slot has the tile's size.
struct PartialSlots {
  std::int64_t first;
  std::int32_t count;
};

inline namespace TESSERA_UNIT {

// A product with partial sums in the workspace has
//   Sum                       the type of a sum
//   rows, cols                of a tile, multiples of 8
//   partials                  the slots
//   tiles()                   the number of tiles with partial sums
//   tile(i)                   the position of the i-th of them: TileOrder::Tile
//   slots(i)                  its partial sums
//   contains(row, col)        true if C has such an element
//   store(row, col, sum)      applies the epilogue and stores, for an element that exists
template <class Product>
struct SplitKReduction {
  static constexpr int threads = 128;
  // With an early trigger the next kernel's blocks would pile up on the multiprocessors that finish first.
  static constexpr bool no_early_trigger = true;
  struct Shared {};
  using Sum = typename Product::Sum;
  // A thread has 8 bytes of a tile, a warp 8 rows of 32 bytes: whole sectors, for C by rows and by columns.
  static constexpr int unit = 8 / sizeof(Sum), warp_cols = 4 * unit, warp_rows = 8;
  // Loads in flight: one at a time, each partial sum would take a round trip to the cache. Stream-K tiles
  // have two or three partial sums, for which the instructions of `many` would take most of the time.
  static constexpr int many = 32, few = 4;

  static Launch launch(const Product& product) {
    return {.grid = {product.tiles() * blocks_of_tile(product)}, .block = {threads}};
  }

  __device__ void operator()(Thread thread, Shared&, const Product& product) const {
    const int blocks = blocks_of_tile(product), block = thread.block().x, i = block / blocks;
    const int within = block % blocks * threads + thread.index().x, patch = within / 32, lane = within % 32;
    const int across = product.cols / warp_cols;
    const int row = patch / across * warp_rows + lane / 4, col = patch % across * warp_cols + lane % 4 * unit;
    const TileOrder::Tile tile = product.tile(i);
    const std::int64_t in_row = std::int64_t{tile.row} * product.rows + row,
                       in_col = std::int64_t{tile.col} * product.cols + col;
    if (!product.contains(in_row, in_col)) return;
    const PartialSlots slots = product.slots(i);
    if (slots.count == 1) return;  // the block has stored it
    const std::int64_t size = std::int64_t{product.rows} * product.cols;
    const Sum* next = product.partials + slots.first * size + std::int64_t{row} * product.cols + col;
    Sum sums[unit] = {};
    const auto take = [&]<int at_once>(int left) {
      unsigned long long some[at_once];
      SIMT_UNROLL
      for (int s = 0; s < at_once; ++s) some[s] = s < left ? load(next + s * size) : 0;
      SIMT_UNROLL
      for (int s = 0; s < at_once; ++s) add(sums, some[s]);
      next += at_once * size;
    };
    int left = slots.count;
    for (; left > few; left -= many) take.template operator()<many>(left);
    if (left > 0) take.template operator()<few>(left);
    SIMT_UNROLL
    for (int e = 0; e < unit; ++e)
      if (product.contains(in_row, in_col + e)) product.store(in_row, in_col + e, sums[e]);
  }

 private:
  SIMT static int blocks_of_tile(const Product& product) {
    return product.rows * product.cols / (threads * unit);
  }
  static __device__ unsigned long long load(const Sum* from) {
    return __ldcg(reinterpret_cast<const unsigned long long*>(from));
  }
  SIMT static void add(Sum (&sums)[unit], unsigned long long part) {
    Sum some[unit];
    __builtin_memcpy(some, &part, sizeof part);
    SIMT_UNROLL
    for (int e = 0; e < unit; ++e) sums[e] += some[e];
  }
};

}  // namespace TESSERA_UNIT

}  // namespace tessera::matmul
