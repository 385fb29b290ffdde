// SPDX-License-Identifier: Apache-2.0
// What one memory instruction of a warp costs: 32 addresses, counted as the hardware counts them.
//
// Global memory moves in sectors of 32 bytes, whoever wants them; a cache looks its lines of 128 bytes up
// one after another. Shared memory has 32 banks of
// 4 bytes; each wavefront gives one word of every bank, to as many lanes as want that word. Accesses
// of 8 and 16 bytes take two and four phases, of half and quarter warps.
#pragma once
#include <array>
#include <cstdint>

namespace tessera::simt {

inline constexpr int lanes_per_warp = 32;
using LaneAddresses = std::array<std::uint64_t, lanes_per_warp>;

struct RequestCost {
  std::uint32_t distinct_bytes = 0;
  std::uint32_t sectors = 0, ideal_sectors = 0;        // of 32 bytes; ideal: distinct bytes packed
  std::uint32_t lines = 0;                             // of 128 bytes, that the sectors lie in
  std::uint32_t wavefronts = 0, ideal_wavefronts = 0;  // ideal: each phase takes one
};

// `active`: the lanes that take part, at least one, as bits; `width`: bytes of each access.
RequestCost global_cost(const LaneAddresses& address, std::uint32_t active, unsigned width);
RequestCost shared_cost(const LaneAddresses& address, std::uint32_t active, unsigned width);

}  // namespace tessera::simt
