// SPDX-License-Identifier: Apache-2.0
// The tiles that devices work off a queue: enough of them that the last one costs little, none so small that
// dealing it out costs more than computing it.
#pragma once
#include <vector>
#include "tessera/core/division.hpp"

namespace tessera::dist {

// So many rows and columns of a result cost a device as much as any part of them. 1: it takes what it
// computes.
struct Unit {
  std::int64_t rows = 1, cols = 1;

  bool known() const { return rows > 1 || cols > 1; }
  auto operator<=>(const Unit&) const = default;
};

// Whole units of all of them, where such a tile is not out of proportion.
Unit common_unit(const std::vector<Unit>& units);

struct Tiling {
  std::int64_t wanted = 64;       // tiles of the whole result
  double least_flops = 1e6;       // of a tile, where the result is not smaller
  std::int64_t memory_bytes = 0;  // what a tile may read and write; 0: any amount
  Unit unit = {};                 // cuts lie between these, where memory holds one
};

// In the order in which they are dealt out, back and forth. Throws Error where the memory holds none.
std::vector<Tile> tiles_of(const Division& division, const Arguments& arguments, Interval rows,
                           const Tiling& tiling);

// Some of these tiles, of a device that keeps what it has read, in the order in which least has to arrive
// before each: row after row the first row would wait for all that the columns read. Rows and columns of
// tiles come in turn, always those that make more tiles ready for each byte.
std::vector<std::size_t> by_arrival(const Division& division, const Arguments& arguments,
                                    const std::vector<Tile>& tiles, const std::vector<std::size_t>& some);

std::int64_t bytes_of(const Division& division, const Arguments& arguments, const Tile& tile);

// What a tile costs: its work, had all of its last units been asked for. (They are counted from its own
// corner.)
double work_of(const Division& division, const Tile& tile, const Unit& unit);

}  // namespace tessera::dist
