// SPDX-License-Identifier: Apache-2.0
// Which tile a batch is cut into, and which entry and tile a unit of work is. Plain arithmetic for host and
// device, so that tests count every tile of every entry.
#pragma once
#include <span>
#include <vector>
#include "ops/matmul/plans/tile_plan.hpp"

namespace tessera::matmul_batch {

using matmul::TileCosts;
using matmul::TileOrder;

// An entry of C in tiles of a cluster, and the k tiles of its sum.
struct EntrySize {
  std::int64_t m = 0, n = 0;
  std::int64_t k_tiles = 0;
};

// How tiles of one entry follow each other. Never split: the order of a sum is then the same in every batch.
TileOrder order_of(const matmul::TileCost& cost, std::int64_t m, std::int64_t n);

// As many units as an entry may have, whichever tile is chosen.
std::int64_t max_units_of(std::int64_t m, std::int64_t n);

// Entries of one size, one after another.
struct EqualEntries {
  std::int32_t each = 1;  // units of an entry

  struct Unit {
    std::int32_t entry, within;
  };
  TESSERA_HOST_DEVICE Unit at(std::int32_t unit) const { return {unit / each, unit % each}; }
};

// The tile that a model says is done soonest with all entries: of `count` entries like each of `sizes`.
// `tiles`: bits of those that may be taken, one at least; `options`: counted from 1, 0 for none.
int choose_tile(TileCosts costs, std::span<const EntrySize> sizes, std::int64_t count, int processors,
                unsigned tiles, int options = 0);

// Units of entries of any sizes: those with the longest sums first, lest one of them begins last.
struct GroupOrder {
  std::vector<std::int32_t> entries;  // in the order of their units, without those that have none
  std::vector<std::int32_t> first;    // unit of each of them
  std::int64_t units = 0;
};
GroupOrder order_group(const matmul::TileCost& cost, std::span<const EntrySize> sizes);

}  // namespace tessera::matmul_batch
