// SPDX-License-Identifier: Apache-2.0
#include "tessera/run/tile_order.hpp"
#include <algorithm>
#include "tessera/dist/tiles.hpp"

namespace tessera {

dist::Queue::Arrange order_of_arrival(const Division& division, const Arguments& host,
                                      const std::vector<Tile>& tiles,
                                      const std::vector<std::optional<Worker::OnLanes>>& lanes) {
  constexpr std::int64_t tiles_at_a_time = 3;  // two, and gaps between their inputs
  std::vector<bool> holds;
  for (const auto& device : lanes)
    holds.push_back(device && dist::bytes_of(division, host, division.whole()) +
                                      tiles_at_a_time * dist::bytes_of(division, host, device->largest) <=
                                  device->memory_bytes);
  if (std::ranges::find(holds, true) == holds.end()) return {};
  return [&division, &host, &tiles, holds = std::move(holds)](std::size_t d,
                                                              const std::vector<std::size_t>& band) {
    return holds[d] ? dist::by_arrival(division, host, tiles, band) : band;
  };
}

}  // namespace tessera
