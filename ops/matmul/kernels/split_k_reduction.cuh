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
#include <type_traits>
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
// many_tiles: a thread adds four times 16 bytes instead of 8 bytes, so that it computes few addresses for
// many loads.
template <class Product, bool many_tiles>
struct SplitKReduction {
  static constexpr int threads = 128;
  // With an early trigger the next kernel's blocks would pile up on the multiprocessors that finish first.
  static constexpr bool no_early_trigger = true;
  struct Shared {};
  using Sum = typename Product::Sum;
  using Vector = std::conditional_t<many_tiles, uint4, unsigned long long>;
  // A patch of a warp is 8 rows of 4 vectors: whole sectors, for C by rows and by columns.
  static constexpr int unit = sizeof(Vector) / sizeof(Sum), warp_cols = 4 * unit, warp_rows = 8,
                       patches = many_tiles ? 4 : 1, block_elements = threads * unit * patches;
  // Partial sums whose loads are in flight: one at a time, each would take a round trip to the cache. With
  // few tiles, `many` serves long sums; for the two or three partial sums of stream-K its instructions would
  // take most of the time.
  static constexpr int few = 4, many = many_tiles ? few : 32;

  static Launch launch(const Product& product) {
    return {.grid = {product.tiles() * blocks_of_tile(product)}, .block = {threads}};
  }

  __device__ void operator()(Thread thread, Shared&, const Product& product) const {
    const int blocks = blocks_of_tile(product), block = thread.block().x, i = block / blocks;
    const int within = block % blocks * threads + thread.index().x, lane = within % 32;
    const int across = product.cols / warp_cols;
    const PartialSlots slots = product.slots(i);
    if (slots.count == 1) return;  // the block has stored it
    const TileOrder::Tile tile = product.tile(i);
    const std::int64_t tile_row = std::int64_t{tile.row} * product.rows,
                       tile_col = std::int64_t{tile.col} * product.cols;
    int row[patches], col[patches];
    SIMT_UNROLL
    for (int q = 0; q < patches; ++q) {
      const int patch = within / 32 * patches + q;
      row[q] = patch / across * warp_rows + lane / 4;
      col[q] = patch % across * warp_cols + lane % 4 * unit;
    }
    const std::int64_t size = std::int64_t{product.rows} * product.cols;
    const Sum* next = product.partials + slots.first * size;
    Sum sums[patches][unit] = {};
    const auto take = [&]<int at_once>(int left) {
      Vector some[at_once][patches];
      SIMT_UNROLL
      for (int s = 0; s < at_once; ++s) {
        SIMT_UNROLL
        for (int q = 0; q < patches; ++q)
          some[s][q] = s < left && product.contains(tile_row + row[q], tile_col + col[q])
                           ? load(next + s * size + row[q] * product.cols + col[q])
                           : Vector{};
      }
      SIMT_UNROLL
      for (int s = 0; s < at_once; ++s) {
        SIMT_UNROLL
        for (int q = 0; q < patches; ++q) add(sums[q], some[s][q]);
      }
      next += at_once * size;
    };
    int left = slots.count;
    for (; left > few; left -= many) take.template operator()<many>(left);
    if (left > 0) take.template operator()<few>(left);
    SIMT_UNROLL
    for (int q = 0; q < patches; ++q) {
      SIMT_UNROLL
      for (int e = 0; e < unit; ++e)
        if (product.contains(tile_row + row[q], tile_col + col[q] + e))
          product.store(tile_row + row[q], tile_col + col[q] + e, sums[q][e]);
    }
  }

 private:
  SIMT static int blocks_of_tile(const Product& product) {
    return product.rows * product.cols / block_elements;
  }
  static __device__ Vector load(const Sum* from) { return __ldcg(reinterpret_cast<const Vector*>(from)); }
  SIMT static void add(Sum (&sums)[unit], const Vector& part) {
    Sum some[unit];
    __builtin_memcpy(some, &part, sizeof part);
    SIMT_UNROLL
    for (int e = 0; e < unit; ++e) sums[e] += some[e];
  }
};

}  // namespace TESSERA_UNIT

// Calls act<Reduction>() with the reduction of many tiles if it has enough blocks, else with the other one.
template <class Product, class Act>
void with_reduction(const Product& product, std::int64_t enough_blocks, const Act& act) {
  using ManyTiles = SplitKReduction<Product, true>;
  const std::int64_t tile = std::int64_t{product.rows} * product.cols;
  if (tile % ManyTiles::block_elements == 0 && product.cols % ManyTiles::warp_cols == 0 &&
      product.tiles() * (tile / ManyTiles::block_elements) >= enough_blocks)
    act.template operator()<ManyTiles>();
  else act.template operator()<SplitKReduction<Product, false>>();
}

// Fewer blocks of many tiles would leave multiprocessors idle.
inline constexpr std::int64_t usual_enough_blocks = 512;

}  // namespace tessera::matmul
