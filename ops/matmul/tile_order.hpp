// SPDX-License-Identifier: Apache-2.0
// Which tile of C comes when: blocks that run at the same time share rows of A and columns of B in the L2 cache.
// Plain arithmetic for host and device, so that tests count every tile.
#pragma once
#include <cstdint>

#if defined(__CUDACC__)
#define TESSERA_BOTH __host__ __device__ __forceinline__
#else
#define TESSERA_BOTH inline
#endif

namespace tessera::matmul {

struct TileOrder {
  std::int32_t rows = 1, cols = 1;  // in tiles (of a cluster)
  std::int32_t group = 8;           // rows that are walked together, column by column
  std::int32_t splits = 1;          // of the sum, each a unit of work of its own

  struct Tile {
    std::int32_t row, col, split;
  };

  TESSERA_BOTH std::int64_t count() const { return std::int64_t{rows} * cols * splits; }

  // unit < count(), which is below 2^31 for whatever fits into a memory.
  TESSERA_BOTH Tile at(std::int32_t unit) const {
    const std::int32_t tile = unit / splits, band = group * cols, before = tile / band * group;
    const std::int32_t height = rows - before < group ? rows - before : group, within = tile % band;
    return {before + within % height, within / height, unit % splits};
  }
};

// What is left of C's columns beyond whole tiles, in strips of 64: each line of them beside one block's rows is a piece.
// Blocks of a cluster work on pieces apart; a unit of work is `tall` pieces for each of them, one after the other.
struct StripOrder {
  static constexpr int cols = 64;
  std::int32_t lines = 0, strips = 0;  // blocks' rows; strips beside each other
  std::int32_t tall = 1;

  struct Piece {
    std::int32_t line, strip;
    bool there;
  };

  TESSERA_BOTH std::int64_t pieces() const { return std::int64_t{lines} * strips; }
  TESSERA_BOTH std::int64_t units(int cluster) const {
    const std::int64_t each = std::int64_t{tall} * cluster;
    return (pieces() + each - 1) / each;
  }
  TESSERA_BOTH Piece at(std::int32_t unit, std::int32_t i, int cluster, std::int32_t rank) const {
    const std::int32_t piece = (unit * tall + i) * cluster + rank;
    return {piece % lines, piece / lines, piece < lines * strips};
  }
};

}  // namespace tessera::matmul
