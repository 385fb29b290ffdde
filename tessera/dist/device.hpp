// SPDX-License-Identifier: Apache-2.0
// What planning knows of a device: how fast it computes, what it holds, and what its links carry. A GPU, the
// host's processors, a throttled twin in a test: to a plan they differ in these numbers alone.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace tessera::dist {

struct Device {
  std::string name;                  // "cuda:1"
  std::string kind;                  // those of one kind give the same bits
  double flops_per_second = 0;       // of the work at hand
  double step_seconds = 0;           // what a step costs however little it computes
  double bytes_in_per_second = 0;    // from the host; 0: it computes in the host's memory, nothing is copied
  double bytes_out_per_second = 0;   // to the host, at the same time
  double peer_bytes_per_second = 0;  // from a peer, at the same time
  std::vector<std::size_t> peers = {};  // devices whose memory it can copy from, by their place in the list
  std::int64_t memory_bytes = 0;        // what a plan may use; 0: no limit

  bool copies() const { return bytes_in_per_second > 0; }
};

}  // namespace tessera::dist
