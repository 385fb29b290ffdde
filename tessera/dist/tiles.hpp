// SPDX-License-Identifier: Apache-2.0
// The tiles that devices work off a queue: enough of them that the last one costs little, none so small that
// dealing it out costs more than computing it.
#pragma once
#include <vector>
#include "tessera/core/division.hpp"

namespace tessera::dist {

struct Tiling {
  std::int64_t wanted = 64;       // tiles of the whole result
  double least_flops = 1e6;       // of a tile, where the result is not smaller
  std::int64_t memory_bytes = 0;  // what a tile may read and write; 0: any amount
};

// In the order in which they are dealt out, back and forth. Throws Error where the memory holds none.
std::vector<Tile> tiles_of(const Division& division, const Arguments& arguments, Interval rows,
                           const Tiling& tiling);

std::int64_t bytes_of(const Division& division, const Arguments& arguments, const Tile& tile);

}  // namespace tessera::dist
