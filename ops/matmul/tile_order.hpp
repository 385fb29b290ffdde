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

}  // namespace tessera::matmul
