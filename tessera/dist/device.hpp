// SPDX-License-Identifier: Apache-2.0
// What planning knows of a device: how fast it computes, what it holds, and what its links carry. A GPU, the
// host's processors, a throttled twin in a test: to a plan they differ in these numbers alone.
#pragma once
#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tessera::dist {

struct Device {
  std::string name;             // "cuda:1"
  std::string kind;             // those of one kind give the same bits
  double flops_per_second = 0;  // of the work at hand
  // Likewise, of tiles that are so many elements large, where that was measured; between: as the next
  // smaller.
  std::map<std::int64_t, double> flops_of_tiles = {};
  double step_seconds = 0;  // what a step costs however little it computes
  double sum_bytes_per_second =
      0;                           // at which a step reads and writes the sums that it adds to; 0: in no time
  double bytes_in_per_second = 0;  // from the host; 0: it computes in the host's memory, nothing is copied
  // The part of that for what comes in rows of so many bytes, where it was measured; between: as the next
  // shorter. Short rows are slow: each is a transfer of its own.
  std::map<std::int64_t, double> part_of_link = {};
  double bytes_out_per_second = 0;      // to the host, at the same time
  double peer_bytes_per_second = 0;     // from a peer, at the same time
  std::vector<std::size_t> peers = {};  // devices whose memory it can copy from, by their place in the list
  std::int64_t memory_bytes = 0;        // what a plan may use; 0: no limit
  // What of that a plan's elements leave for gaps and workspaces: by the plan's tile and panel, which it
  // depends on.
  std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> spare_bytes = {};

  bool copies() const { return bytes_in_per_second > 0; }
  double flops_of(std::int64_t tile_elements) const {
    return known(flops_of_tiles, tile_elements).value_or(flops_per_second);
  }
  double bytes_in_of(std::int64_t row_bytes) const {
    return bytes_in_per_second * known(part_of_link, row_bytes).value_or(1);
  }
  std::int64_t spare_for(std::int64_t tile, std::int64_t panel) const {
    const auto spare = spare_bytes.find({tile, panel});
    return spare == spare_bytes.end() ? 0 : spare->second;
  }
  // What elements may take; of memory that the rest takes whole, one byte: too little for any.
  std::int64_t memory_for(std::int64_t tile, std::int64_t panel) const {
    return memory_bytes == 0 ? 0 : std::max<std::int64_t>(1, memory_bytes - spare_for(tile, panel));
  }

 private:
  static std::optional<double> known(const std::map<std::int64_t, double>& of, std::int64_t size) {
    if (of.empty()) return std::nullopt;
    const auto larger = of.upper_bound(size);
    return larger == of.begin() ? larger->second : std::prev(larger)->second;
  }
};

}  // namespace tessera::dist
