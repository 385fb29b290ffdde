// SPDX-License-Identifier: Apache-2.0
// What a rank tells of its work.
#pragma once
#include <string>
#include <vector>
#include "tessera/core/division.hpp"
#include "tessera/dist/timeline.hpp"

namespace tessera {

// One of a rank's several devices.
struct RankDevice {
  std::string label, lost;  // lost: why it was given up
  std::size_t parts = 0;    // of all panels
  double share = 0;         // of the rank's work
};

// What a rank did, and how long each part took; what it waited for others in the end is not in it.
struct RankReport {
  std::string host, device;
  Interval rows, cols;
  int threads = 1;
  double read_seconds = 0, compute_seconds = 0, transfer_seconds = 0, wait_seconds = 0, agree_seconds = 0,
         check_seconds = 0, write_seconds = 0;
  double received_bytes = 0;
  // Each rank's since its own first panel set out. Device 0 is the rank itself: its panels' ways and, of one
  // device, their adding; from 1 on those of `devices`.
  std::vector<dist::Span> spans = {};
  std::vector<RankDevice> devices = {};  // where a rank has several
  std::string notes = {};                // lines: of devices that were given up
  std::string checks = {};               // to_text() of Checks, where parts were protected
};

}  // namespace tessera
