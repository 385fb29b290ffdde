// SPDX-License-Identifier: Apache-2.0
// Cuts a result for several devices: into bands by shares, and into tiles that the devices take from a queue.
#pragma once
#include <span>
#include <vector>
#include "tessera/core/operation/partition.hpp"

namespace tessera {

// Returns consecutive parts in the ratio of the shares, cut at multiples of the granule; a part may be empty.
// Throws Error if a share is negative, or all are 0.
std::vector<Interval> split_by_shares(std::int64_t extent, std::int64_t granule,
                                      std::span<const double> shares);

// Returns equal parts of an extent, multiples of the granule except for the last, none larger than `most`.
std::vector<Interval> even_parts(Interval whole, std::int64_t most, std::int64_t granule);

// Devices in rows and columns: each one's part of the result is then nearly square, and reads the least.
struct Grid {
  std::int64_t rows = 1, cols = 1;
};
Grid grid_of(const Partition& partition, std::int64_t devices);

struct Tiling {
  std::int64_t wanted = 64;       // tiles of the entire result
  double min_flops = 1e6;         // per tile, unless the result is smaller
  std::int64_t memory_bytes = 0;  // bytes that a tile may read and write; 0: no limit
  Grid grid = {};                 // numbers of tiles are multiples of these, and each strip of columns
                                  // comes after the one before it
};

// Returns the tiles of some rows of the result: strip by strip, row by row, back and forth. Throws Error if
// the memory holds none.
std::vector<Tile> tiles_of(const Partition& partition, const Arguments& arguments, Interval rows,
                           const Tiling& tiling);

// Orders tiles in growing squares, for a device that keeps its inputs. After a few rows and columns of inputs
// have arrived, many tiles can be computed; row by row, the first row waits for all columns. Devices of one
// row of the grid read the same rows, and those of one column the same columns: `device` begins with others
// of these than its neighbours, and finds theirs when it comes to them.
std::vector<std::size_t> in_growing_squares(const std::vector<Tile>& tiles, std::vector<std::size_t> some,
                                            Grid grid = {}, std::int64_t device = 0);

std::int64_t bytes_of(const Partition& partition, const Arguments& arguments, const Tile& tile);

}  // namespace tessera
