// SPDX-License-Identifier: Apache-2.0
#include "tessera/simt/tracer/request.hpp"
#include <algorithm>

namespace tessera::simt {
namespace {

constexpr unsigned sector_bytes = 32, sectors_per_line = 4, word_bytes = 4, banks = 32;

// Lanes may touch two of anything each, when an access lies across a boundary; 16 bytes are four words.
using Units = std::array<std::uint64_t, lanes_per_warp * 5>;

// The distinct units of `bytes` bytes that the active lanes touch, in order; gives their number.
std::size_t distinct_units(const LaneAddresses& address, std::uint32_t active, unsigned width, unsigned bytes,
                           Units& units) {
  std::size_t count = 0;
  for (std::uint32_t left = active; left != 0; left &= left - 1) {
    const std::uint64_t first = address[static_cast<std::size_t>(__builtin_ctz(left))];
    for (std::uint64_t unit = first / bytes; unit <= (first + width - 1) / bytes; ++unit)
      if (count == 0 || units[count - 1] != unit) units[count++] = unit;
  }
  const auto end = units.begin() + static_cast<std::ptrdiff_t>(count);
  std::sort(units.begin(), end);
  return static_cast<std::size_t>(std::unique(units.begin(), end) - units.begin());
}

std::uint32_t distinct_bytes(const LaneAddresses& address, std::uint32_t active, unsigned width) {
  LaneAddresses first;
  std::size_t count = 0;
  for (std::uint32_t left = active; left != 0; left &= left - 1)
    first[count++] = address[static_cast<std::size_t>(__builtin_ctz(left))];
  std::sort(first.begin(), first.begin() + static_cast<std::ptrdiff_t>(count));
  std::uint32_t bytes = width;
  for (std::size_t i = 1; i < count; ++i)
    bytes += static_cast<std::uint32_t>(std::min<std::uint64_t>(width, first[i] - first[i - 1]));
  return bytes;
}

std::uint32_t wavefronts_of_phase(const LaneAddresses& address, std::uint32_t active, unsigned width) {
  Units words;
  const std::size_t count = distinct_units(address, active, width, word_bytes, words);
  std::array<std::uint32_t, banks> wanted{};
  std::uint32_t most = 0;
  for (std::size_t i = 0; i < count; ++i) most = std::max(most, ++wanted[words[i] % banks]);
  return most;
}

}  // namespace

RequestCost global_cost(const LaneAddresses& address, std::uint32_t active, unsigned width) {
  Units sectors;
  RequestCost cost;
  cost.distinct_bytes = distinct_bytes(address, active, width);
  cost.sectors = static_cast<std::uint32_t>(distinct_units(address, active, width, sector_bytes, sectors));
  for (std::size_t i = 0; i < cost.sectors; ++i)
    cost.lines += i == 0 || sectors[i] / sectors_per_line != sectors[i - 1] / sectors_per_line;
  cost.ideal_sectors = (cost.distinct_bytes + sector_bytes - 1) / sector_bytes;
  return cost;
}

RequestCost shared_cost(const LaneAddresses& address, std::uint32_t active, unsigned width) {
  RequestCost cost;
  cost.distinct_bytes = distinct_bytes(address, active, width);
  const int phases = width <= 4 ? 1 : width <= 8 ? 2 : 4, lanes = lanes_per_warp / phases;
  for (int phase = 0; phase < phases; ++phase) {
    const std::uint32_t all = lanes == lanes_per_warp ? ~0u : (1u << lanes) - 1;
    const std::uint32_t here = active & all << (phase * lanes);
    if (here == 0) continue;
    cost.wavefronts += wavefronts_of_phase(address, here, width);
    ++cost.ideal_wavefronts;
  }
  return cost;
}

}  // namespace tessera::simt
