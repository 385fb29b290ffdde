// SPDX-License-Identifier: Apache-2.0
#include "tessera/run/multi_device/timeline.hpp"
#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace tessera {

const char* name_of(Activity activity) {
  switch (activity) {
    case Activity::copy_in:
      return "copy in";
    case Activity::message:
      return "message";
    case Activity::copy_out:
      return "copy out";
    case Activity::compute:
      break;
  }
  return "compute";
}

double Timeline::end() const {
  double out = 0;
  for (const TimelineSpan& span : spans) out = std::max(out, span.last);
  return out;
}

double Timeline::end(std::size_t device) const {
  double out = 0;
  for (const TimelineSpan& span : spans)
    if (span.device == device) out = std::max(out, span.last);
  return out;
}

double Timeline::busy(std::size_t device, Activity activity) const {
  double out = 0;
  for (const TimelineSpan& span : spans)
    if (span.device == device && span.activity == activity) out += span.last - span.first;
  return out;
}

std::string chrome_trace(const Timeline& timeline, const std::vector<std::string>& devices) {
  constexpr Activity all[] = {Activity::copy_in, Activity::message, Activity::compute, Activity::copy_out};
  constexpr double microseconds = 1e6;
  nlohmann::ordered_json events = nlohmann::ordered_json::array();
  for (std::size_t d = 0; d < devices.size(); ++d) {
    events.push_back({{"ph", "M"}, {"name", "process_name"}, {"pid", d}, {"args", {{"name", devices[d]}}}});
    for (const Activity activity : all)
      events.push_back({{"ph", "M"},
                        {"name", "thread_name"},
                        {"pid", d},
                        {"tid", static_cast<int>(activity)},
                        {"args", {{"name", name_of(activity)}}}});
  }
  for (const TimelineSpan& span : timeline.spans) {
    const std::string of = span.panel == 0 ? "" : fmt::format(" of panel {}", span.panel);
    events.push_back({{"ph", "X"},
                      {"name", fmt::format("{} {}{}", name_of(span.activity), span.tile, of)},
                      {"pid", span.device},
                      {"tid", static_cast<int>(span.activity)},
                      {"ts", span.first * microseconds},
                      {"dur", (span.last - span.first) * microseconds}});
  }
  return nlohmann::ordered_json{{"traceEvents", events}, {"displayTimeUnit", "ms"}}.dump() + "\n";
}

}  // namespace tessera
