// SPDX-License-Identifier: Apache-2.0
// The activities of each device, with their times.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace tessera {

// message: between devices or ranks
enum class Activity : std::uint8_t { copy_in, message, compute, copy_out };
inline const char* name_of(Activity activity) {
  constexpr const char* names[] = {"copy in", "message", "compute", "copy out"};
  return names[static_cast<std::size_t>(activity)];
}

struct TimelineSpan {
  std::size_t device = 0;
  Activity activity = Activity::compute;
  std::size_t tile = 0;
  double first = 0, last = 0;  // seconds since the beginning
  std::int64_t bytes = 0;      // copied
};

struct Timeline {
  std::vector<TimelineSpan> spans;

  double end() const {
    double out = 0;
    for (const TimelineSpan& span : spans) out = std::max(out, span.last);
    return out;
  }
  double busy(std::size_t device, Activity activity) const {
    double out = 0;
    for (const TimelineSpan& span : spans)
      if (span.device == device && span.activity == activity) out += span.last - span.first;
    return out;
  }
};

}  // namespace tessera
