// SPDX-License-Identifier: Apache-2.0
// The choice of a batch's tile, and the mapping from units of work to entries and tiles. No CUDA calls; host
// and device code, unit-tested on the host.
#pragma once
#include <span>
#include <vector>
#include "ops/matmul/plans/tile_plan.hpp"

namespace tessera::matmul_batch {

using matmul::TileCosts;
using matmul::TileOrder;

// The size of an entry's C, and the number of k tiles of its sums.
struct EntrySize {
  std::int64_t m = 0, n = 0;
  std::int64_t k_tiles = 0;
};

// Returns the order of an entry's tiles. Sums are never split, so an entry has the same bits in any batch.
TileOrder order_of(const matmul::TileCost& cost, std::int64_t m, std::int64_t n);

// Returns an upper bound on the number of an entry's units, for any tile.
std::int64_t max_units_of(std::int64_t m, std::int64_t n);

// Maps units to entries of one size, whose units are numbered entry by entry.
struct EqualEntries {
  std::int32_t each = 1;  // units per entry

  struct Unit {
    std::int32_t entry, within;
  };
  TESSERA_HOST_DEVICE Unit at(std::int32_t unit) const { return {unit / each, unit % each}; }
};

// Returns the tile with which all entries finish soonest by the model: `count` entries like each of `sizes`.
// `tiles`: set of allowed tiles as bits, at least one; `options`: the requested tile, counted from 1, or 0.
int choose_tile(TileCosts costs, std::span<const EntrySize> sizes, std::int64_t count, int multiprocessors,
                unsigned tiles, int options = 0);

// The order of entries of any sizes: longest sums first, so that no long one begins when others are done.
struct GroupOrder {
  std::vector<std::int32_t> entries;  // in the order of their units, without empty entries
  std::vector<std::int32_t> first;    // first unit of each entry
  std::int64_t units = 0;
};
GroupOrder order_group(const matmul::TileCost& cost, std::span<const EntrySize> sizes);

}  // namespace tessera::matmul_batch
