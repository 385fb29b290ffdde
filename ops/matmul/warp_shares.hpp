// SPDX-License-Identifier: Apache-2.0
// Which block of rung 11 sums up what. The first blocks have a tile of C each. The stages of the other tiles,
// one tile after the other, are dealt out in equal shares, whatever tiles they belong to: so no
// multiprocessor waits for others, however few tiles there are. Plain arithmetic for host and device.
#pragma once
#include <cstdint>
#include "tile_order.hpp"

namespace tessera::matmul {

struct WarpShares {
  std::int32_t tiles = 0, whole = 0;  // in all; those of the first blocks
  std::int32_t stages = 1;            // of a tile's sum
  // What a tile counts for among shares: its stages, or more, so that shares end where tiles do.
  std::int32_t padded = 1;
  std::int32_t share = 1;  // stages

  TESSERA_BOTH std::int64_t dealt() const { return std::int64_t{tiles - whole} * padded; }
  TESSERA_BOTH std::int64_t blocks() const { return whole + (dealt() + share - 1) / share; }

  // Some stages of one tile's sum.
  struct Part {
    std::int32_t tile, first, end;  // stages
    // Of a tile that has several, all of which know each other: the first one's share, and the last one's.
    std::int32_t from, to;
    std::int64_t next;  // where the block goes on

    TESSERA_BOTH bool alone() const { return from == to; }
  };

  // Where a block begins: at a tile if it has one, else at a stage of those that are dealt out.
  TESSERA_BOTH std::int64_t begin(std::int32_t block) const {
    return block < whole ? 0 : std::int64_t{block - whole} * share;
  }
  TESSERA_BOTH std::int64_t end(std::int32_t block) const {
    if (block < whole) return 1;
    const std::int64_t end = (std::int64_t{block - whole} + 1) * share, most = dealt();
    return end < most ? end : most;
  }
  // From there on; begin(block) ≤ at < end(block).
  TESSERA_BOTH Part part(std::int32_t block, std::int64_t at) const {
    if (block < whole) return {block, 0, stages, 0, 0, 1};
    const auto tile = static_cast<std::int32_t>(at / padded);
    const std::int64_t before = std::int64_t{tile} * padded, after = before + padded, stop = end(block);
    const std::int64_t next = stop < after ? stop : after;
    const auto last = static_cast<std::int32_t>(next - before);
    return {whole + tile,
            static_cast<std::int32_t>(at - before),
            last < stages ? last : stages,
            static_cast<std::int32_t>(before / share),
            static_cast<std::int32_t>((after - 1) / share),
            next};
  }
  // Room for two parts a share: of the tile that it begins in, and of the one that it ends in. The number of
  // the room of a share's part of a tile.
  TESSERA_BOTH std::int64_t room(std::int32_t of_share, std::int32_t tile) const {
    const bool began_before = std::int64_t{of_share} * share < std::int64_t{tile - whole} * padded;
    return std::int64_t{of_share} * 2 + (began_before ? 1 : 0);
  }
  TESSERA_BOTH std::int64_t rooms() const { return whole == tiles ? 0 : 2 * (blocks() - whole); }
};

}  // namespace tessera::matmul
