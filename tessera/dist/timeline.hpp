// SPDX-License-Identifier: Apache-2.0
// What each device did, and when: of a run, or of a plan on a virtual clock.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace tessera::dist {

enum class Deed : std::uint8_t { copy_in, copy_peer, compute, copy_out };
const char* name_of(Deed deed);

struct Span {
  std::size_t device = 0;
  Deed deed = Deed::compute;
  std::size_t tile = 0;
  double first = 0, last = 0;  // seconds since the beginning
  std::size_t panel = 0;       // of calls that share a sum: which of them, from 1; 0: there is one
};

struct Timeline {
  std::vector<Span> spans;

  double end() const;                                // of the last span
  double end(std::size_t device) const;              // of the device's last
  double busy(std::size_t device, Deed deed) const;  // the sum of its spans
};

// For a browser's tracing page: a process for each device, a row for each deed.
std::string chrome_trace(const Timeline& timeline, const std::vector<std::string>& devices);

}  // namespace tessera::dist
