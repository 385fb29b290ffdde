// SPDX-License-Identifier: Apache-2.0
// What each device did, and when.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace tessera {

enum class Activity : std::uint8_t { copy_in, message, compute, copy_out };  // message: between ranks
const char* name_of(Activity activity);

struct TimelineSpan {
  std::size_t device = 0;
  Activity activity = Activity::compute;
  std::size_t tile = 0;
  double first = 0, last = 0;  // seconds since the beginning
  std::size_t panel = 0;       // of a sum that ranks share in panels, from 1; 0: not shared
};

struct Timeline {
  std::vector<TimelineSpan> spans;

  double end() const;                                        // of the last span
  double end(std::size_t device) const;                      // of the device's last
  double busy(std::size_t device, Activity activity) const;  // the sum of its spans
};

// For a browser's tracing page: a process for each device, a row for each activity.
std::string chrome_trace(const Timeline& timeline, const std::vector<std::string>& devices);

}  // namespace tessera
