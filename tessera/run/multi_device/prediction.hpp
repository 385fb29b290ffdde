// SPDX-License-Identifier: Apache-2.0
// Predicts the time of a call on several devices from the rates of its links and of its arithmetic.
#pragma once
#include <span>
#include <string>
#include <vector>
#include "tessera/core/operation/partition.hpp"

namespace tessera {

// Rates of copies, in bytes per second.
struct LinkRates {
  double to_device = 0, from_device = 0;  // over one device's link
  double short_rows = 0;                  // over one link, of rows of 8 KiB that lie apart
  double host = 0;                        // over all links together, in both directions
  double between = 0;                     // from another device's memory; 0: none is faster than the link
};

struct PredictedDevice {
  double flops_per_second = 0;
  std::vector<std::size_t> tiles = {};  // in order
  std::size_t tiles_at_once = 2;
};

struct Prediction {
  double seconds = 0;
  double arithmetic = 0, links = 0;  // seconds that these alone would take
  std::int64_t host_bytes = 0, peer_bytes = 0;

  std::string text() const;  // "95.1 ms: the arithmetic takes 89.3 ms, the host's links 29.1 ms"
};

// Simulates the devices' queues: an input is copied from a device that has it or waits for it, otherwise from
// the host; copies in one direction over one link follow one another, and all links share the host's rate.
Prediction predict(const Partition& partition, const Arguments& arguments, std::span<const Tile> tiles,
                   std::span<const PredictedDevice> devices, const LinkRates& rates);

}  // namespace tessera
