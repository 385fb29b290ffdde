// SPDX-License-Identifier: Apache-2.0
// Sums that several blocks have made parts of. Each block leaves its part of a tile in memory, row by row,
// and ends; a second kernel adds the parts of each element, in their order, and stores the result.
//
// So no block waits for another, nothing is counted, and all multiprocessors add, however few tiles there
// are: the second launch, which takes its place while the first ends, takes less time than blocks that meet
// in memory, of which the last has all parts to read.
#pragma once
#include <cstdint>
#include <cstring>
#include "ops/matmul/kernels/tile_order.hpp"
#include "tessera/core/thread.hpp"

namespace tessera::matmul {

// Where the parts of a tile lie, one after the other, each in a room of the tile's size.
struct PartRooms {
  std::int64_t first;
  std::int32_t count;
};

inline namespace TESSERA_UNIT {

// A product of whose tiles parts lie in memory has
//   Sum                       the type of a sum
//   rows, cols                of a tile, multiples of 8
//   parts                     the rooms
//   tiles()                   how many are in parts
//   tile(i)                   where the i-th of them is: TileOrder::Tile
//   rooms(i)                  where its parts are
//   holds(row, col)           whether there is such an element
//   store(row, col, sum)      what follows the sum, of an element that there is
template <class Product>
struct AddParts {
  static constexpr int threads = 128;
  // Blocks of the next kernel would crowd on the multiprocessors that are done first.
  static constexpr bool no_early_trigger = true;
  struct Shared {};
  using Sum = typename Product::Sum;
  // A thread has 8 bytes of a tile, a warp 8 rows of 32 bytes: whole sectors, whether C lies by rows or
  // columns.
  static constexpr int unit = 8 / sizeof(Sum), warp_cols = 4 * unit, warp_rows = 8;
  // Parts under way: one after the other would take as many ways to the cache. Of sums that are dealt out a
  // tile has two or three, for which as many instructions as for many would take most of the time.
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
    if (!product.holds(in_row, in_col)) return;
    const PartRooms rooms = product.rooms(i);
    if (rooms.count == 1) return;  // the block has stored it
    const std::int64_t size = std::int64_t{product.rows} * product.cols;
    const Sum* next = product.parts + rooms.first * size + std::int64_t{row} * product.cols + col;
    Sum sums[unit] = {};
    const auto take = [&]<int at_once>(int left) {
      unsigned long long some[at_once];
      SIMT_UNROLL
      for (int s = 0; s < at_once; ++s) some[s] = s < left ? load(next + s * size) : 0;
      SIMT_UNROLL
      for (int s = 0; s < at_once; ++s) add(sums, some[s]);
      next += at_once * size;
    };
    int left = rooms.count;
    for (; left > few; left -= many) take.template operator()<many>(left);
    if (left > 0) take.template operator()<few>(left);
    SIMT_UNROLL
    for (int e = 0; e < unit; ++e)
      if (product.holds(in_row, in_col + e)) product.store(in_row, in_col + e, sums[e]);
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
