// SPDX-License-Identifier: Apache-2.0
// In which order a device takes the tiles that a queue has for it.
#pragma once
#include <optional>
#include <vector>
#include "tessera/dist/queue.hpp"
#include "tessera/run/worker.hpp"

namespace tessera {

// As their inputs arrive (dist::by_arrival), for devices whose memory holds all inputs of the call and the
// tiles under way; others go back and forth. `lanes`: by device; nothing: it reads the host's memory. All
// arguments must stay but the last. Nothing where this is for none.
dist::Queue::Arrange order_of_arrival(const Division& division, const Arguments& host,
                                      const std::vector<Tile>& tiles,
                                      const std::vector<std::optional<Worker::OnLanes>>& lanes);

}  // namespace tessera
